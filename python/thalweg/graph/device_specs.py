# SPDX-License-Identifier: Apache-2.0
"""DeviceSpec: the parts of a device's name; how a name fills in what another leaves open."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from thalweg.graph.tensor import Operation

_PARTS = ("job", "replica", "task", "device_type", "device_index")


def parts_of(text: str) -> dict[str, str]:
    """{"job": .., "device": ..} of a device string in any of its forms."""
    parts = {}
    for part in (text or "").split("/"):
        kind, _, value = part.partition(":")
        if kind.lower() in ("cpu", "gpu"):
            parts["device"] = f"{kind.upper()}:{value or '*'}"
        elif kind == "device":
            parts["device"] = value
        elif kind:
            parts[kind] = value
    return parts


def merge_devices(inner: str, outer: str) -> str:
    """What `inner` leaves open is taken from `outer`."""
    if not inner:
        return outer or ""
    parts = {**parts_of(outer), **parts_of(inner)}
    return "".join(f"/{kind}:{parts[kind]}" for kind in ("job", "replica", "task", "device") if kind in parts)


def check_device(text: str) -> None:
    for part in text.split("/"):
        kind = part.partition(":")[0]
        known = ("job", "replica", "task", "device", "cpu", "gpu") if part.count(":") < 2 else ("device",)
        if part and kind.lower() not in known:
            raise ValueError(f"Unknown attribute: '{kind}' in '{text}'")


class DeviceSpec:
    """DeviceSpec(job="ps", device_type="CPU", device_index=0): "/job:ps/device:CPU:0"; None leaves a part open."""

    def __init__(self, job: str | None = None, replica: int | None = None, task: int | None = None,
                 device_type: str | None = None, device_index: int | None = None) -> None:
        self.job = None if job is None else str(job)
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = None if device_type is None else str(device_type)
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec: str) -> Self:
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> Self:
        """Takes the parts that a name has; the others stay open."""
        DeviceSpec.__init__(self)
        check_device(spec)
        for part in filter(None, spec.split("/")):
            kind, _, value = part.partition(":")
            if kind in ("replica", "task"):
                setattr(self, kind, int(value))
            elif kind == "job":
                self.job = value
            else:
                type_, _, index = value.partition(":") if kind == "device" else (kind.upper(), "", value)
                self.device_type = None if type_ == "*" else type_
                self.device_index = None if index in ("", "*") else int(index)
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the parts that `dev` names."""
        for part in _PARTS:
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        made = self.replace()
        made.merge_from(dev)
        return made

    def replace(self, **kwargs: object) -> DeviceSpec:
        """The same with other values of some parts."""
        return DeviceSpec(**{**{part: getattr(self, part) for part in _PARTS}, **kwargs})

    def to_string(self) -> str:
        text = "".join(f"/{part}:{getattr(self, part)}" for part in _PARTS[:3] if getattr(self, part) is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    __str__ = to_string

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())


def merge_device(spec: str) -> Callable[[Operation], str]:
    """A device function: what it leaves open is taken from the operation's own device."""
    text = spec.to_string() if isinstance(spec, DeviceSpec) else spec or ""
    return lambda op: merge_devices(op.device, text)
