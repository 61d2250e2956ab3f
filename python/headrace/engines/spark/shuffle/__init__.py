"""Spark shuffles of rows by key, and the tasks before and behind them."""
