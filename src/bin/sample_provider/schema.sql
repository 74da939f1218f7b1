CREATE TABLE location (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE poi (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL,
    open_from TEXT, open_until TEXT, phone_number TEXT
) STRICT;
-- Where a point of interest is found: at a location or along a route.
CREATE TABLE near (
    place TEXT NOT NULL, poi TEXT NOT NULL REFERENCES poi, distance_km REAL NOT NULL, PRIMARY KEY (place, poi)
) STRICT;
CREATE TABLE route (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, start TEXT NOT NULL, destination TEXT NOT NULL,
    name_via TEXT NOT NULL, distance_km REAL NOT NULL, duration_minutes INTEGER NOT NULL,
    includes_toll INTEGER NOT NULL, alias TEXT NOT NULL
) STRICT;
CREATE TABLE contact (
    id TEXT PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    phone_number TEXT NOT NULL, email_address TEXT NOT NULL
) STRICT;
CREATE TABLE entry (
    id TEXT PRIMARY KEY, start TEXT NOT NULL, duration_minutes INTEGER NOT NULL, topic TEXT NOT NULL,
    location TEXT NOT NULL
) STRICT;
CREATE TABLE attendee (
    entry TEXT NOT NULL REFERENCES entry, position INTEGER NOT NULL, contact TEXT NOT NULL REFERENCES contact,
    PRIMARY KEY (entry, position)
) STRICT;
-- The tour: empty while navigation is inactive.
CREATE TABLE stop (position INTEGER PRIMARY KEY, place TEXT NOT NULL) STRICT;
CREATE TABLE leg (position INTEGER PRIMARY KEY, route TEXT NOT NULL) STRICT;
CREATE TABLE phone_call (at INTEGER NOT NULL, phone_number TEXT NOT NULL) STRICT;
CREATE TABLE mail (at INTEGER NOT NULL, recipients TEXT NOT NULL, content TEXT NOT NULL) STRICT;
-- Writes that were carried out: no call is carried out twice.
CREATE TABLE carried_out (call TEXT PRIMARY KEY) STRICT;
