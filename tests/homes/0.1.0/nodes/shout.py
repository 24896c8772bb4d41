"""A node of a person's own."""

from pocketflow import Node


class Shout(Node):
    """Make a text loud.

    Interface:
    - Params: text: str - what to say
    - Writes: shared["loud"]: str - the same in capitals
    """

    def exec(self, _):
        return self.params["text"].upper()

    def post(self, shared, _, loud):
        shared["loud"] = loud
