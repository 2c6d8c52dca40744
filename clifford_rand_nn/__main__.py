"""``python -m clifford_rand_nn``: the program ``clifford-rand``."""

if __name__ == "__main__":
    from clifford_rand_nn.cli.entry import main

    main()
