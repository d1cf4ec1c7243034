try:
    from .cli import main

    raise SystemExit(main())
except KeyboardInterrupt:  # Ctrl-C, perhaps before anything was read
    raise SystemExit(130) from None
