#!/bin/sh
# A look at the service from a shell, and one draft by hand. The bus is the session bus; in a car, leave out --user.
set -eu
service=org.obligato.Harness1 root=/org/obligato/Harness1

# What is there, and why a rule is there.
busctl --user get-property $service $root $service.Manager State
busctl --user get-property $service $root $service.Policy Id
busctl --user call $service $root $service.Policy Explain s ac-closes-windows

# A session of this user: every busctl is a connection of its own.
session=$(busctl --user call $service $root $service.Manager OpenDetachedSession | cut -d'"' -f2)
on() { busctl --user --timeout=60 call $service "$session" $service.Session "$@"; }
on Heard 'sa{sv}' 'Turn on the air conditioning.' 2 zone s driver confidence d 0.9
draft='{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function":
    {"name": "set_air_conditioning", "arguments": "{\"on\": true}"}}]}'
on Verify s "$draft"
on Execute s "$draft"
on Close

# A session that is gone answers with an error that has a name.
on Verify s "$draft" || echo "as expected: the session is closed"
