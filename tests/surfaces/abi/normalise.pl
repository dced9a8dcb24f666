#!/usr/bin/perl
# Reduces the output of abi-dumper to the public ABI, as text that is identical on every machine.
#
#   normalise.pl RAW_DUMP INCLUDE_FOLDER SONAME >DUMP the dump, in abi-dumper's own form
#   normalise.pl --surface DUMP                       the dump as sorted lines, one per function, field and enumerator
#
# A raw dump contains the private C++ types that handles point to: a megabyte that changes with each internal change.
# Programs cannot see them. Therefore a struct that no public header defines becomes opaque here, and types that no
# function reaches are dropped. So are tool versions, source lines, other libraries, and typedefs of the C library. Types
# are numbered by a hash of their names, so that a new type does not renumber others and differences remain short.
#
# experimental.h is outside the ABI guarantee: its functions are dropped, and its structs become opaque.
#
# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use Data::Dumper;
use Digest::MD5 qw(md5_hex);

sub load {
    my ($file) = @_;
    our $VAR1;
    local $VAR1;
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    my $text = <$in>;
    eval $text;
    die "$file is not a dump of abi-dumper\n" unless ref $VAR1 eq 'HASH' && $VAR1->{SymbolInfo};
    return $VAR1;
}

# Returns the names of structs and enumerations that public headers define.
sub defined_types {
    my ($folder) = @_;
    my %names;
    for my $header (glob "$folder/xformer/*.h") {
        next if $header =~ m{/experimental\.h$};
        open my $in, '<', $header or die "$header: $!\n";
        local $/;
        my $text = <$in>;
        $text =~ s{/\*.*?\*/}{}gs;
        $names{"$1 $2"} = 1 while $text =~ /\b(struct|enum|union)\s+(\w+)\s*\{/g;
    }
    die "no types in $folder/xformer\n" unless %names;
    return \%names;
}

sub experimental_functions {
    my ($folder) = @_;
    open my $in, '<', "$folder/xformer/experimental.h" or die "experimental.h: $!\n";
    local $/;
    my %names = map { $_ => 1 } <$in> =~ /^XF_API [\w *]*?(xf_\w+)\(/gm;
    die "no functions in $folder/xformer/experimental.h\n" unless %names;
    return \%names;
}

sub number_of { return '' . hex substr md5_hex($_[0]), 0, 7 }

# abi-dumper 1.2 takes the decimal offsets that elfutils of today prints for hexadecimal ones, so that 16 becomes 22.
sub offsets_are_misread {
    my ($types) = @_;
    for my $type (values %$types) {
        next unless $type->{Type} eq 'Struct' && $type->{Name} =~ /^(struct )?xf_/;
        for my $item (values %{$type->{Memb} // {}}) {
            return 1 if ($item->{offset} // 0) + ($types->{$item->{type}}{Size} // 0) > $type->{Size};
        }
    }
    return 0;
}

sub normalise {
    my ($raw, $public, $experimental, $soname) = @_;
    my ($types, $hex, %number, %kept) = ($raw->{TypeInfo}, offsets_are_misread($raw->{TypeInfo}));

    # Through typedefs of other headers than ours: __int64_t and the like.
    my $resolve = sub {
        my ($id) = @_;
        my $type = $types->{$id} or die "type $id is missing\n";
        while ($type->{Type} eq 'Typedef' && $type->{Name} =~ /^__/) {
            $id = $type->{BaseType};
            $type = $types->{$id};
        }
        return $id;
    };
    my $visit;
    $visit = sub {
        my ($id) = @_;
        $id = $resolve->($id);
        return $number{$id} if defined $number{$id};
        my $type = $types->{$id};
        my $new = $id =~ /^-?1$/ ? $id : number_of("$type->{Type} $type->{Name}");  # void and ... are 1 and -1
        $number{$id} = $new;
        my %out = map { $_ => $type->{$_} } grep { defined $type->{$_} } qw(Name Type Size);
        # Without a header abi-compliance-checker takes a type for private and sees none of its changes.
        $out{Header} = 'xformer.h' if $type->{Name} =~ /^(\w+ )?xf_/ && $type->{Type} =~ /^(Struct|Union|Enum|Typedef)$/;
        if ($type->{Type} =~ /^(Struct|Class|Union|Enum)$/ && !$public->{$type->{Name}}) {
            $out{Type} = 'Struct';
            delete $out{Size};
        } else {
            $out{BaseType} = $visit->($type->{BaseType}) if defined $type->{BaseType};
            $out{Return} = $visit->($type->{Return}) if defined $type->{Return};
            for my $list (qw(Param Memb)) {
                for my $i (keys %{$type->{$list} // {}}) {
                    my %item = %{$type->{$list}{$i}};
                    $item{offset} = sprintf '%x', $item{offset} if $hex && defined $item{offset};
                    $item{value} =~ s/.*\((-\d+)\)$/$1/ if defined $item{value};  # "18446744073709551615 (-1)"
                    $item{type} = $visit->($item{type}) if defined $item{type};
                    $out{$list}{$i} = {map { $_ => $item{$_} } grep { defined $item{$_} } qw(name type offset value bitfield)};
                }
            }
            my $base = $out{BaseType};
            delete $out{Size} if $out{Type} =~ /^(Typedef|Const|Volatile)$/ && $kept{$base} && !defined $kept{$base}{Size};
        }
        local $Data::Dumper::Sortkeys = 1;
        die "two types are called $type->{Name}\n" if $kept{$new} && Dumper($kept{$new}) ne Dumper(\%out);
        $kept{$new} = \%out;
        return $new;
    };

    my ($exported, %symbols) = values %{$raw->{Symbols}};
    delete @{$exported}{grep { $experimental->{s/\@.*//r} } keys %$exported};
    my %exported = map { s/\@.*//r => 1 } keys %$exported;
    for my $info (values %{$raw->{SymbolInfo}}) {
        my $name = $info->{ShortName};
        next unless $exported{$info->{MnglName} // $name};  # not what is inlined or a constructor of the inside
        my %out = (ShortName => $name, Header => 'xformer.h', Return => $visit->($info->{Return} // 1));
        for my $i (keys %{$info->{Param} // {}}) {
            $out{Param}{$i} = {name => $info->{Param}{$i}{name}, type => $visit->($info->{Param}{$i}{type})};
        }
        $symbols{number_of($name)} = \%out;
    }
    my %versions = %{$raw->{SymbolVersion} // {}};
    delete @versions{grep { $experimental->{s/\@.*//r} } keys %versions};
    return {
        (map { $_ => $raw->{$_} } qw(ABI_DUMPER_VERSION ABI_DUMP_VERSION Arch Language LibraryVersion Target WordSize)),
        SymbolVersion => \%versions,
        Headers => {'xformer.h' => 1},
        LibraryName => $soname,
        SymbolInfo => \%symbols,
        Symbols => {$soname => $exported},
        TypeInfo => \%kept,
    };
}

# Whether Perl holds a number as a number or as text depends on the way it came; in the dump all are text.
sub as_text {
    my ($value) = @_;
    return {map { $_ => as_text($value->{$_}) } keys %$value} if ref $value eq 'HASH';
    return "$value";
}

sub surface {
    my ($dump) = @_;
    my ($types, @lines) = ($dump->{TypeInfo});
    my $items = sub { my ($list) = @_; map { $list->{$_} } sort { $a <=> $b } keys %{$list // {}} };
    my $name = sub { $types->{$_[0]}{Name} };
    for my $symbol (values %{$dump->{SymbolInfo}}) {
        my @params = map { $name->($_->{type}) } $items->($symbol->{Param});
        push @lines, "function $symbol->{ShortName}: " . $name->($symbol->{Return}) . ' (' . join(', ', @params) . ')';
        # Neighbours of one type: to swap them changes no type.
        my @list = $items->($symbol->{Param});
        for my $i (1 .. $#list) {
            next unless $list[$i - 1]{type} eq $list[$i]{type};
            push @lines, "parameters of $symbol->{ShortName}: $list[$i - 1]{name} before $list[$i]{name}";
        }
    }
    for my $type (values %$types) {
        if ($type->{Type} =~ /^(Struct|Union)$/) {
            push @lines, "opaque $type->{Name}" unless $type->{Memb};
            push @lines, "$type->{Name}, at $_->{offset}: $_->{name}, " . $name->($_->{type}) for $items->($type->{Memb});
        } elsif ($type->{Type} eq 'Enum') {
            push @lines, "$type->{Name}: $_->{name} = $_->{value}" for $items->($type->{Memb});
        } elsif ($type->{Type} eq 'Typedef') {
            push @lines, "typedef $type->{Name}: " . $name->($type->{BaseType});
        }
    }
    push @lines, "soname $dump->{LibraryName}";
    push @lines, "version $_" for values %{$dump->{SymbolVersion} // {}};
    return map { "$_\n" } sort @lines;
}

if (@ARGV == 2 && $ARGV[0] eq '--surface') {
    print surface(load($ARGV[1]));
} elsif (@ARGV == 3) {
    my $dump = as_text(normalise(load($ARGV[0]), defined_types($ARGV[1]), experimental_functions($ARGV[1]), $ARGV[2]));
    local $Data::Dumper::Indent = 1;
    local $Data::Dumper::Sortkeys = sub {
        my @keys = keys %{$_[0]};
        return [(grep { !/^-?\d+$/ } @keys) ? sort @keys : sort { $a <=> $b } @keys];
    };
    print Dumper($dump);
} else {
    die "normalise.pl RAW_DUMP INCLUDE_FOLDER SONAME | normalise.pl --surface DUMP\n";
}
