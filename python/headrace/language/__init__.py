"""The query language: from text to a tree, and back.

Only the form of a query is decided here. Which methods there are and what they
give, whether a stream of rows can be used where it stands, is for the layers above.
"""
