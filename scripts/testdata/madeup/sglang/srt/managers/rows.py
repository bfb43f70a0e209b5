"""Made up for the tests of scripts/sglang_reuse.py: two loops that hand out rows one by one."""
from sglang.srt.managers.messages import Sealed, Tokens, Whole, unseal


def read(message, name, row):
    column = getattr(message, name, None)
    if column is None:
        return None
    sealed = name in ("notes", "marks")
    if sealed:
        column = unseal(column)
    return Sealed([column[row]]) if sealed else [column[row]]


def take(message, row):
    if isinstance(message, Tokens):
        part = Tokens([message.names[row]], read(message, "numbers", row), read(message, "notes", row), None)
    elif isinstance(message, Whole):
        part = message
    else:
        raise TypeError(message)
    return part


class Detokenizer:
    def multi_http_worker_event_loop(self):
        while self.waiting:
            received = self.waiting.pop()
            for number, key in enumerate(received.to):
                part = take(received, number)
                self.send(key, part)


class MultiDetokenizerRouter:
    def pick(self, key):
        return key

    def event_loop(self):
        for received in self.waiting:
            # ü: a character of two bytes before the loop
            for index, key in enumerate(received.to): # "é"
                part = take(received, index)
                part.to = [key]
                self.send(self.pick(key), part)
