"""The service in its image: hardened, named on the bus, denying what it must deny.

Run by `bitbake -c testimage obligato-image-test`.
"""

from oeqa.core.decorator.depends import OETestDepends
from oeqa.runtime.case import OERuntimeTestCase
from oeqa.runtime.decorator.package import OEHasPackage

BUS = "org.obligato.Harness1"
ROOT = "/org/obligato/Harness1"
# A lid that no rule may open while nobody agreed: whatever the model wants, the answer is a question.
DRAFT = (
    '{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": '
    '{"name": "open_close_trunk_door", "arguments": "{\\"action\\": \\"OPEN\\"}"}}]}'
)


class ObligatoTest(OERuntimeTestCase):
    def target_output(self, command, expected=0):
        status, output = self.target.run(command)
        self.assertEqual(status, expected, msg="`%s` ended with %d: %s" % (command, status, output))
        return output

    @OETestDepends(["ssh.SSHTest.test_ssh"])
    @OEHasPackage(["obligato"])
    def test_the_unit_starts_and_owns_its_name(self):
        self.target_output("systemctl start obligatod.service")
        self.assertEqual(self.target_output("systemctl is-active obligatod.service"), "active")
        self.assertIn(BUS, self.target_output("busctl --system list --acquired"))

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    def test_its_exposure_stays_low(self):
        report = self.target_output("systemd-analyze security --no-pager obligatod.service || true")
        exposure = float(report.strip().splitlines()[-1].split(":")[1].split()[0])
        self.assertLessEqual(exposure, 1.5)

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    @OEHasPackage(["obligato-cli"])
    def test_an_opening_without_consent_is_not_cleared(self):
        self.target_output("printf '%%s' '%s' > /tmp/draft.json && : > /tmp/transcript.jsonl" % DRAFT.replace("'", "'\\''"))
        verdict = self.target_output(
            "obligato verify --policy /usr/share/obligato/cabin.obl "
            "--transcript /tmp/transcript.jsonl --draft /tmp/draft.json --json || true"
        )
        self.assertNotIn('"verdict":"clear"', verdict.replace(" ", ""))

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    def test_it_comes_back_after_a_kill(self):
        self.target_output("systemctl kill --signal=KILL obligatod.service")
        self.target_output("for i in 1 2 3 4 5; do sleep 1; systemctl is-active obligatod.service && exit 0; done; exit 1")
