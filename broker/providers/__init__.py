"""The sources of guidance, one a file behind one interface."""
