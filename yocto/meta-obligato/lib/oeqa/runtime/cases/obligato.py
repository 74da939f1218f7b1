"""The service in its image: hardened, named on the bus, denying what it must deny.

Run by `bitbake -c testimage obligato-image-test`.
"""

import json
import re
import shlex

from oeqa.core.decorator.depends import OETestDepends
from oeqa.runtime.case import OERuntimeTestCase
from oeqa.runtime.decorator.package import OEHasPackage

UNIT = "obligatod.service"
BUS = "org.obligato.Harness1"
ROOT = "/org/obligato/Harness1"
SETTLED = 30
"""Seconds that the unit has to come back; it restarts after one."""

# The driver asks for it, the car stands still, and nobody has agreed yet.
TRANSCRIPT = [
    {"role": "user", "content": "Open the trunk."},
    {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {
        "name": "get_vehicle_motion", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": json.dumps(
        {"status": "SUCCESS", "result": {"speed_kph": 0, "gear": "P"}})},
]
DRAFT = {"role": "assistant", "tool_calls": [{"id": "2", "type": "function", "function": {
    "name": "open_close_trunk_door", "arguments": json.dumps({"action": "OPEN"})}}]}


class ObligatoTest(OERuntimeTestCase):
    def answer(self, command, expected=0):
        status, output = self.target.run(command)
        self.assertEqual(status, expected, msg="`%s` ended with %d: %s" % (command, status, output))
        return output

    def write(self, path, text):
        self.answer("printf '%%s' %s > %s" % (shlex.quote(text), path))

    def main_pid(self):
        return int(self.answer("systemctl show -P MainPID %s" % UNIT))

    @OETestDepends(["ssh.SSHTest.test_ssh"])
    @OEHasPackage(["obligato"])
    def test_the_unit_starts_and_owns_its_name(self):
        self.answer("systemctl start %s" % UNIT)
        self.assertEqual(self.answer("systemctl is-active %s" % UNIT).strip(), "active")
        self.assertIn(BUS, self.answer("busctl --system list --acquired"))

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    @OEHasPackage(["systemd-analyze"])
    def test_its_exposure_stays_low(self):
        report = self.answer("systemd-analyze security --no-pager %s" % UNIT)
        exposure = re.search(r"Overall exposure level for %s: ([0-9.]+)" % re.escape(UNIT), report)
        self.assertIsNotNone(exposure, msg="no exposure in: %s" % report)
        self.assertLessEqual(float(exposure.group(1)), 1.5)

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    @OEHasPackage(["obligato-cli"])
    def test_an_opening_without_consent_is_a_question(self):
        self.write("/tmp/transcript.jsonl", "\n".join(json.dumps(message) for message in TRANSCRIPT))
        self.write("/tmp/draft.json", json.dumps(DRAFT))
        report = json.loads(self.answer(
            "obligato verify --policy /usr/share/obligato/cabin.obl --limits /usr/share/obligato/hard-limits.toml "
            "--transcript /tmp/transcript.jsonl --draft /tmp/draft.json --json",
            expected=1,
        ))
        self.assertEqual(report["verdict"], "ask", msg=report)
        self.assertTrue(any(finding["gate"] == "confirmation" for finding in report["findings"]), msg=report)

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    def test_the_running_service_answers_by_the_policy_of_the_image(self):
        rules = self.answer("busctl --system call %s %s %s.Policy List" % (BUS, ROOT, BUS))
        self.assertIn('"marked-tools-need-consent"', rules)

    @OETestDepends(["obligato.ObligatoTest.test_the_unit_starts_and_owns_its_name"])
    def test_it_comes_back_after_a_kill(self):
        before = self.main_pid()
        self.assertGreater(before, 0)
        self.answer("systemctl kill --kill-whom=main --signal=KILL %s" % UNIT)
        self.answer(
            "for i in $(seq %d); do pid=$(systemctl show -P MainPID %s); "
            "[ \"$pid\" -gt 0 ] && [ \"$pid\" -ne %d ] && systemctl is-active --quiet %s && exit 0; sleep 1; done; exit 1"
            % (SETTLED, UNIT, before, UNIT)
        )
        self.assertIn(BUS, self.answer("busctl --system list --acquired"))
