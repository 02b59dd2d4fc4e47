#!/usr/bin/perl
use strict;
use warnings;
use constant LIMIT => 10;
use constant { RED => 1, GREEN => 2 };

our $VERSION = '1.02';

package Report::Line;

sub new {
    my ($class, %args) = @_;
    return bless {%args}, $class;
}

# Writes the line.
sub text {
    my $self = shift;
    my $f = sub { return 1 };
    return $self->{text};
}

package Report;

BEGIN {
    our $count = 0;
}

=head1 NAME

Report - lines of a report

=cut

sub print_all($$) {
    my ($self, $out) = @_;
    print $out <<"END";
sub not_a_sub { }
END
}

1;
