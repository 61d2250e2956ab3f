"""The public Python API: what users import, composed from the layers below."""
