# Every habit as a recipe. CI calls these very recipes (.ci/run installs the tools, then `just ci`).

seconds := "30"

# List the recipes.
default:
    @just --list

# Formatting, lints and documentation, warnings denied.
check: fmt-check lint doc fuzz-check

# Formatting of the workspace and of fuzz/.
fmt-check:
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    cargo fmt --manifest-path proptests/newer/Cargo.toml --check

# Format everything.
fmt:
    cargo fmt --all
    cargo fmt --manifest-path fuzz/Cargo.toml
    cargo fmt --manifest-path proptests/newer/Cargo.toml

# Clippy on all targets; and the parts that promise `no_std` without their std feature.
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo clippy -p mmspec-model -p mmspec-impl --no-default-features --locked -- -D warnings
    cargo clippy -p mmspec-impl --all-targets --features heap --locked -- -D warnings

# Build the documentation.
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# All tests. The quick ways of slabs are taken without debug assertions only.
test: && newer
    cargo test --workspace --locked
    cargo test -p mmspec-impl --features heap --test heap --locked
    cargo test -p mmspec-impl --profile bugs --test slab --locked

# The locks under loom, in a target folder of their own (docs/concurrency.md).
loom:
    RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom" cargo test --release --locked -p mmspec-impl --test loom

# The allocators whose newer releases need a lock file of their own (docs/others.md).
newer:
    cargo test --manifest-path proptests/newer/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --locked

# The fuzz package on the stable toolchain, so that it cannot rot unseen.
fuzz-check:
    cargo clippy --manifest-path fuzz/Cargo.toml --all-targets --locked -- -D warnings

# Write the seed corpora of the fuzz targets from the scripts of this repository.
seeds:
    cargo run --release --locked -p mmspec-snapshots --example seeds -- fuzz/corpus proptests/regressions

# Fuzz one target for as long as you like (nightly toolchain and cargo-fuzz).
fuzz target="differential" time="0": seeds
    fuzz/run {{target}} {{time}}

# Fuzz every target for a short while.
fuzz-ci: seeds
    fuzz/run differential {{seconds}}
    fuzz/run laws {{seconds}}
    fuzz/run script {{seconds}}
    fuzz/run trace {{seconds}}
    fuzz/run compaction {{seconds}}
    fuzz/run memcg {{seconds}}
    fuzz/run slab {{seconds}}

# Review changed snapshots (cargo-insta).
review:
    cargo insta review

# Refuse unreviewed and unreferenced snapshots, as CI does.
review-check:
    cargo insta test --check --unreferenced=reject -p mmspec-snapshots -p mmspec

# All engines for a while.
engines time=seconds:
    cargo run --release --locked -- check --seconds {{time}} --seed 7

# Put kernel bugs back into a copy of the tree and hunt them (docs/bugs.md); all of them, or ID….
bugs *args:
    proptests/bugs/run {{args}}

# Mutants of the allocator's core (docs/mutants.md; needs cargo-mutants 27): a quick judge first,
# then all tests of the package for what it misses.
mutants *args:
    cargo mutants --cargo-arg=--test=reference {{args}} || case $? in 2|3) ;; *) exit 1 ;; esac
    cargo mutants --iterate {{args}}

# The allocator and its peers under the same loads (docs/speed.md); [rounds] [load] [allocator].
bench *args:
    cargo run --release --locked --manifest-path impl/benches/peers/Cargo.toml -- {{args}}

# What drains by either scheme cost the threads that they meet (docs/drains.md); [rounds].
drains *args:
    cargo run --release --locked --manifest-path impl/benches/peers/Cargo.toml --bin drains -- {{args}}

# The slab heap and other heaps under the same loads (docs/slub.md); [rounds] [load] [heap].
heaps *args:
    cargo run --release --locked --manifest-path impl/benches/heaps/Cargo.toml -- {{args}}

# The tests of a crate from the registry on the slab heap (docs/slub.md): CRATE VERSION [arguments].
suite *args:
    impl/tests/heap/suite {{args}}

# How fast compaction is, and what it gives back (docs/compaction.md); [GiB].
compaction *args:
    cargo run --release --locked --manifest-path impl/benches/peers/Cargo.toml --bin compaction -- {{args}}

# What charging to a memory cgroup adds to a page (docs/memcg.md).
memcg *args:
    cargo run --release --locked --manifest-path impl/benches/peers/Cargo.toml --bin memcg -- {{args}}

# Explain a recorded kernel trace; FOLDER holds trace.txt.gz, kernel.txt and the /proc files.
trace folder="proptests/traces/linux-6.12-shell":
    cargo run --release --locked -- trace {{folder}}/trace.txt.gz

# All that CI runs.
ci: check test loom review-check
    just seconds=10 fuzz-ci
    just engines 45
