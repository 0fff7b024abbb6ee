"""The documentation site: the pages of this folder, in order, with a search that works from file://."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "shipworthy"
version = release = re.search(r'"(.+?)"', Path("../src/shipworthy/_version.py").read_text("utf-8"))[1]  # type: ignore[index]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"shipworthy {release}"
html_show_copyright = html_show_sphinx = html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]
nitpicky = True
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # csv has no colours
