# SPDX-License-Identifier: Apache-2.0
"""Compares an answer with a recorded one. What varies by nature is compared as far as it can be: times are times; uids, versions
and generated names stand for each other for the whole run (what was one uid there is one uid here)."""
import re

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$")
AGE = re.compile(r"(\d+[smhd])+$")
VARYING = re.compile(r'([0-9a-f]{8}-[0-9a-f-]{27}|\d+ \(\d+\)|\(\d+\)|-[0-9a-z]{8,10}(?="))')
GENERATED = re.compile(r"-[0-9a-z]{8,10}(-[0-9a-z]{5})?$")
MAPPED = {"uid", "resourceVersion", "continue", "generateName", "pod-template-hash"}
TIMES = {"creationTimestamp", "deletionTimestamp", "time"}

class Difference(Exception):
    pass


def writer(entry):
    return entry["manager"], entry["operation"], entry.get("subresource", "")


class Comparison:
    """Compares answers; what stands for what is kept over the whole run."""

    def __init__(self, ignored, of_120=False):
        self.ignored, self.of_120, self.here = ignored, of_120, {}

    def stands_for(self, key, recorded, found, where):
        known = self.here.setdefault((key, recorded), found)
        if known != found:
            raise Difference(f"{where}: {recorded} was {known} before, and is {found} now")

    def text(self, recorded, found, where):
        """Texts with uids and versions in them; 1.20 said of a list's entry only which list it is in."""
        if self.of_120:
            found = re.sub(r"\[\d+\]", "", found)
        recorded_parts = VARYING.split(recorded)
        found_parts = VARYING.split(found)
        if recorded_parts[::2] != found_parts[::2]:
            raise Difference(f"{where}: recorded {recorded!r}, found {found!r}")

    def leaf(self, key, recorded, found, where):
        if key in TIMES or (key in ("lastTransitionTime", "lastUpdateTime") and TIME.match(str(recorded))) or AGE.match(str(recorded)):
            if not (TIME.match(str(found)) or AGE.match(str(found))):
                raise Difference(f"{where}: {found!r} is no time")
        elif key in MAPPED and recorded:
            self.stands_for(key, recorded, found, where)
        elif key == "name" and GENERATED.search(str(recorded)):
            if not GENERATED.search(str(found)):
                raise Difference(f"{where}: {found!r} was not made up by the server")
            self.here[key, recorded] = found
        elif isinstance(recorded, str) and isinstance(found, str):
            self.text(recorded, found, where)
        elif recorded != found:
            raise Difference(f"{where}: recorded {recorded!r}, found {found!r}")

    def writers(self, recorded, found, where):
        """Who wrote, and for custom resources which fields."""
        whole = all(entry["apiVersion"].startswith("cachew.dev/") for entry in recorded)
        recorded, found = sorted(recorded, key=writer), sorted(found, key=writer)
        if [writer(entry) for entry in recorded] != [writer(entry) for entry in found]:
            raise Difference(f"{where}: written by {[writer(e) for e in recorded]}, found {[writer(e) for e in found]}")
        for a, b in zip(recorded, found) if whole else ():
            self.value("", a, b, where)

    def value(self, key, recorded, found, where):
        if key == "managedFields" and isinstance(recorded, list) and where.endswith(key):
            self.writers(recorded, found, where)
            return
        if isinstance(recorded, dict) and isinstance(found, dict):
            names = {name for name in set(recorded) | set(found) if name not in self.ignored}
            if "pod-template-hash" in str(recorded) or key == "metadata" and "holderIdentity" in str(recorded):
                names.discard("generation")
            if "uid" not in recorded and re.fullmatch(r"\d+", str(recorded.get("resourceVersion", ""))):
                names.discard("resourceVersion")  # a list's or a bookmark's: that of the whole server
                if not re.fullmatch(r"\d+", found["resourceVersion"]):
                    raise Difference(f"{where}: {found} has no version")
            for name in sorted(names):
                if (name in recorded) != (name in found):
                    raise Difference(f"{where}.{name}: only {'recorded' if name in recorded else 'found'}")
                self.value(name, recorded[name], found[name], f"{where}.{name}")
        elif isinstance(recorded, list) and isinstance(found, list):
            if len(recorded) != len(found):
                raise Difference(f"{where}: {len(recorded)} entries recorded, {len(found)} found: {found}")
            for i, (a, b) in enumerate(zip(recorded, found)):
                self.value(key, a, b, f"{where}[{i}]")
        else:
            self.leaf(key, recorded, found, where)

    def translated(self, text):
        """A recorded request with the versions and uids of this run."""
        for (key, recorded), found in sorted(self.here.items(), key=lambda item: -len(str(item[0][1]))):
            if key == "uid" or key == "name" or key == "continue":
                text = text.replace(recorded, found)
            if key == "resourceVersion":
                text = re.sub(r'("resourceVersion": "|resourceVersion=)%s\b' % recorded, r"\g<1>" + "#" + found, text)
        return re.sub(r'("resourceVersion": "|resourceVersion=)#', r"\g<1>", text)
