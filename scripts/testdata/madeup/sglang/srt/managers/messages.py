"""Made up for the tests of scripts/sglang_reuse.py: messages with sealed columns."""
opened = []


class Sealed:
    def __init__(self, value):
        self.value = value


class Tokens:
    def __init__(self, names, numbers, notes, to):
        self.names, self.numbers, self.notes, self.to = names, numbers, notes, to


class Whole:
    """A message that no loop takes apart."""

    def __init__(self, notes, to):
        self.notes, self.to = notes, to


def unseal(value):
    if value is None:
        return None
    if not isinstance(value, Sealed):
        return value
    opened.append(value)
    return value.value
