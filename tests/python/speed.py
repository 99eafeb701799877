"""Takes over 10^6 x 40 cells from pandas and prints the CPU seconds, the least of three."""

import time

import numpy
import pandas

from rlbayes import _engine
from rlbayes._tables import make_table

random = numpy.random.default_rng(1)
codes = [random.integers(0, 4, 10**6) for _ in range(40)]
letters = numpy.array(list("abcd"), dtype=object)
columns = {
    "Categorical": lambda cells: pandas.Categorical.from_codes(cells.astype("int8"), list("abcd")),
    "int64": lambda cells: cells,
    "str": lambda cells: letters[cells],
}
for kind, of in columns.items():
    frame = pandas.DataFrame({f"v{at:02}": of(cells) for at, cells in enumerate(codes)})
    took = []
    for _ in range(3):
        before = time.process_time()
        make_table(frame, _engine.ReadOptions())
        took.append(time.process_time() - before)
    print(f"{kind} ({frame.dtypes.iloc[0]}): {min(took):.2f} CPU s")
