"""The forms in which answers leave: one module for each, listed in `kinds`.

A form is a function from lines of JSON, many at a time, to the bytes of a file. It
holds a bounded part of them, so a file of any size can be made; where it must know
its columns, it takes them from the query or from the first answers.
"""
