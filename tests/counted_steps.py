"""A receiver of progress that remembers it."""

from genlaws.core.running import Running


class CountedSteps:
    """Remembers what is announced and reported; cancels the work after `most` steps."""

    def __init__(self, most=None):
        self.labels, self.totals, self.reported, self.most = [], [], [], most
        self.running = Running(self)

    def start(self, total, label):
        self.labels.append(label)
        self.totals.append(total)
        self.reported.append([])

    def advance(self, n=1):
        self.reported[-1].append(n)
        if self.most is not None and self.done >= self.most:
            self.running.cancel()

    @property
    def done(self):
        return sum(map(sum, self.reported))

    def check_complete(self):
        """Everything announced was done, and nothing else."""
        assert self.totals
        assert all(self.labels)
        assert [sum(part) for part in self.reported] == self.totals
        assert min(self.totals) > 0
