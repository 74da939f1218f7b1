//! The side that the driver sits on: which of two signals a call on the left moves.

use std::sync::Arc;
use std::time::Duration;

use obligato::execute::Stale;
use obligato::policy::Policy;
use obligato::state::{Side, SignalPath};
use obligato::vehicle::kuksa::{Fit, Kuksa};
use obligato::vehicle::{Answer, Cause, Vehicle};
use tokio::runtime::Handle;

use crate::bench::{DRIVER_SIDE, DRIVER_WINDOW, PASSENGER_WINDOW, REAR_WINDOWS, own, policy, settings, window};
use crate::broker::{Broker, Place};
use crate::proto::DataType;
use crate::provider::Provider;
use crate::tree::{self, text, uint};

const WINDOWS: [&str; 4] = [DRIVER_WINDOW, PASSENGER_WINDOW, REAR_WINDOWS[0], REAR_WINDOWS[1]];

/// A car with closed windows and a provider that moves them.
async fn windows(broker: &Broker, policy: Arc<Policy>) -> (Kuksa, Provider) {
    WINDOWS.iter().for_each(|path| broker.set(path, uint(0)));
    let provider = Provider::start(&broker.address(), &WINDOWS).await;
    let car = Kuksa::open(&settings(&broker.address()), policy, &Handle::current()).unwrap();
    car.ready(Duration::from_secs(5)).await.unwrap();
    (car, provider)
}

/// Which window an order moves; else why none.
async fn moved(car: &Kuksa, provider: &Provider, name: &str, percentage: i64) -> Result<String, (Cause, bool)> {
    let before = provider.orders().len();
    let answer = car.call(&window(name, percentage), Duration::from_secs(2)).await;
    let orders = provider.orders();
    match answer {
        Answer::Done(_) => {
            let [(path, _)] = &orders[before..] else { panic!("{:?}", &orders[before..]) };
            Ok(path.clone())
        }
        Answer::Trouble(trouble) => {
            assert_eq!(orders.len(), before, "nothing was sent");
            Err((trouble.cause, trouble.untouched))
        }
        other => panic!("{other:?}"),
    }
}

async fn until_side(car: &Kuksa, side: Option<Side>) {
    for _ in 0..1_000 {
        if car.side() == side && car.ready(Duration::ZERO).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the side never became {side:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_side_that_comes_changes_or_goes_is_followed_and_without_one_nothing_moves_by_it() {
    let broker = Broker::start();
    let (car, provider) = windows(&broker, policy()).await;
    let row = |car: &Kuksa| car.table().into_iter().find(|row| row.path == DRIVER_SIDE).unwrap();
    assert_eq!(car.side(), None);
    let said = row(&car);
    assert_eq!((said.field.as_str(), said.fit), ("driver_side", Fit::NoSide { found: "nothing".into() }));
    assert_eq!(moved(&car, &provider, "LEFT_REAR", 10).await, Err((Cause::Side, true)));
    assert_eq!(moved(&car, &provider, "RIGHT_REAR", 10).await, Err((Cause::Side, true)));
    assert_eq!(moved(&car, &provider, "DRIVER", 10).await.unwrap(), DRIVER_WINDOW, "this depends on no side");
    let middle = Fit::NoSide { found: "MIDDLE".into() };
    let mut percentage = 10;
    for (said, side, left, fit) in [
        (Some("RIGHT"), Some(Side::Right), Ok(REAR_WINDOWS[1]), Fit::Fits),
        (Some("LEFT"), Some(Side::Left), Ok(REAR_WINDOWS[0]), Fit::Fits),
        (Some("MIDDLE"), None, Err((Cause::Side, true)), middle),
        (Some("RIGHT"), Some(Side::Right), Ok(REAR_WINDOWS[1]), Fit::Fits),
        (None, None, Err((Cause::Side, true)), Fit::NoSide { found: "nothing".into() }),
    ] {
        let before = car.epoch();
        broker.set_stamped(DRIVER_SIDE, said.map(text), Some(std::time::SystemTime::now()));
        until_side(&car, side).await;
        assert!(car.epoch() > before, "{said:?}: what was concluded for another side is stale");
        percentage += 10;
        let found = moved(&car, &provider, "LEFT_REAR", percentage).await;
        assert_eq!(found.as_deref().map_err(|why| *why), left, "{said:?}");
        assert_eq!(row(&car).fit, fit);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_side_whose_news_was_dropped_is_found_all_the_same() {
    let broker = Broker::start();
    broker.set(DRIVER_SIDE, text("LEFT"));
    let (car, provider) = windows(&broker, policy()).await;
    assert_eq!(car.side(), Some(Side::Left));
    broker.set_unheard(DRIVER_SIDE, text("RIGHT"));
    until_side(&car, Some(Side::Right)).await;
    assert_eq!(moved(&car, &provider, "LEFT_REAR", 20).await.unwrap(), REAR_WINDOWS[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_without_a_usable_signal_of_the_side_says_so_in_the_table_and_moves_nothing_by_it() {
    type Change = fn(&mut Vec<crate::proto::Metadata>);
    let changes: [(Change, Fit); 3] = [
        (|tree| tree.retain(|m| m.path != DRIVER_SIDE), Fit::Missing),
        (
            |tree| tree.iter_mut().find(|m| m.path == DRIVER_SIDE).unwrap().data_type = DataType::Uint8.into(),
            Fit::Type { found: "uint8".into(), wanted: "a word".into() },
        ),
        (
            |tree| {
                let values = crate::proto::StringArray { values: vec!["LINKS".into(), "RIGHT".into()] };
                let values = tree::value(crate::proto::value::TypedValue::StringArray(values));
                tree.iter_mut().find(|m| m.path == DRIVER_SIDE).unwrap().allowed_values = Some(values);
            },
            Fit::Values { refused: vec!["LEFT".into()] },
        ),
    ];
    for (change, fit) in changes {
        let mut tree = tree::vss();
        change(&mut tree);
        let broker = Broker::with(tree, Place::Tcp);
        let (car, provider) = windows(&broker, policy()).await;
        assert_eq!(car.table().into_iter().find(|row| row.path == DRIVER_SIDE).unwrap().fit, fit);
        assert_eq!(moved(&car, &provider, "LEFT_REAR", 20).await, Err((Cause::Side, true)), "{fit:?}");
        assert_eq!(moved(&car, &provider, "PASSENGER", 20).await.unwrap(), PASSENGER_WINDOW, "{fit:?}");
    }
}

/// The cabin in a car whose tree has left and right.
fn left_and_right() -> Arc<Policy> {
    let mut policy = Arc::into_inner(policy()).unwrap();
    let signals = &mut policy.model.vss.as_mut().unwrap().signals;
    let window = signals.iter_mut().find(|s| s.items.iter().flatten().any(|p| p.left == DRIVER_WINDOW)).unwrap();
    for item in &mut window.items {
        for path in item {
            let swapped = match path.left.contains("DriverSide") {
                true => path.left.replace("DriverSide", "PassengerSide"),
                false => path.left.replace("PassengerSide", "DriverSide"),
            };
            *path = SignalPath { left: path.left.clone(), right: swapped };
        }
    }
    Arc::new(policy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_that_depend_on_the_side_are_neither_read_nor_moved_until_it_is_known() {
    let broker = Broker::start();
    let (car, provider) = windows(&broker, left_and_right()).await;
    let table = car.table();
    let either: Vec<_> = table.iter().filter(|row| row.fit == Fit::EitherSide).collect();
    assert_eq!(either.len(), 4, "{table:?}");
    assert!(either.iter().all(|row| row.path.contains(" or ")), "{either:?}");
    assert!(!car.serves("open_close_window") && !car.serves("get_vehicle_window_positions"));
    broker.set(DRIVER_SIDE, text("RIGHT"));
    until_side(&car, Some(Side::Right)).await;
    assert_eq!(moved(&car, &provider, "DRIVER", 20).await.unwrap(), PASSENGER_WINDOW);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clearance_for_another_side_is_stale() {
    let (_broker, mut bench) = own().await;
    bench.history.set_side(Side::Left);
    let cleared = bench.cleared(vec![window("LEFT_REAR", 20)]).await;
    bench.press(DRIVER_SIDE, text("RIGHT")).await;
    assert!(matches!(bench.carry(cleared).await, Err(Stale::Epoch { .. })));
    assert_eq!(bench.provider.orders(), []);
}
