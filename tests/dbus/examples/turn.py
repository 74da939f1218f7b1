#!/usr/bin/env python3
"""A speech front end: the local model drafts, Obligato judges and acts, and this says what happens.

Needs GLib's bindings (Debian: python3-gi). The bus is the session bus; in a car, take Gio.BusType.SYSTEM.
"""
import json
import sys

from gi.repository import Gio, GLib

SERVICE, ROOT = "org.obligato.Harness1", "/org/obligato/Harness1"
WAIT = 60_000  # milliseconds; a turn may take as long as its budget allows

bus = Gio.bus_get_sync(Gio.BusType.SESSION)
loop = GLib.MainLoop()


def call(path, interface, member, arguments=None):
    answer = bus.call_sync(SERVICE, path, f"{SERVICE}.{interface}", member, arguments, None, 0, WAIT, None)
    return answer.unpack()


def tell(_bus, _sender, _path, _interface, signal, arguments):
    turn, *rest = arguments.unpack()
    if signal == "Progress" and rest[0] == "judged":
        print("verdict", json.loads(rest[1])["report"]["verdict"])
    elif signal == "Outcome":
        print("outcome", json.loads(rest[0])["tool"], rest[1])
    elif signal == "Question":
        print("question", rest[0])
    elif signal == "Reply":
        print("reply", rest[0], rest[1])
        loop.quit()


(session,) = call(ROOT, "Manager", "OpenSession")
bus.signal_subscribe(SERVICE, f"{SERVICE}.Session", None, session, None, 0, tell)
try:
    call(session, "Session", "Start", GLib.Variant("(s)", (sys.argv[1],)))
except GLib.Error as error:
    # Each error has a name to branch on (org.obligato.Error.NotReady) and a sentence to show.
    sys.exit(f"{Gio.DBusError.get_remote_error(error)}: {error.message}")
loop.run()
call(session, "Session", "Close")
