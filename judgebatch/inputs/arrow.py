"""PyArrow as this package uses it.

The stubs published for PyArrow lag behind the library, so its modules enter here as untyped;
what comes out of them is typed where it becomes NumPy or Polars.
"""

from importlib import import_module
from typing import Any, TypeAlias

pa: Any = import_module("pyarrow")
pc: Any = import_module("pyarrow.compute")
pq: Any = import_module("pyarrow.parquet")
pt: Any = import_module("pyarrow.types")

Array: TypeAlias = Any
RecordBatch: TypeAlias = Any
Schema: TypeAlias = Any
DataType: TypeAlias = Any
Field: TypeAlias = Any
ParquetFile: TypeAlias = Any
