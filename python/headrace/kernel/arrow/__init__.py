"""Values as Arrow lays them out: types, rows as columns, and columns as lines."""
