"""The package `bayou`, as an installation has it, and the programs that make its types."""
