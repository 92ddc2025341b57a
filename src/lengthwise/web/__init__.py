"""The web page: watch a model write, look inside it, explore grids.

    from lengthwise.web import Catalogue, Limits, create_app
    app = create_app(Catalogue.of(["runs/adder-tiny"]), Limits())      # an ASGI application, for any server

`lengthwise serve` runs it on this machine. Everything the page needs is served from this package.
"""

from lengthwise.web.app import create_app as create_app
from lengthwise.web.catalogue import Catalogue as Catalogue
from lengthwise.web.limits import Limits as Limits
