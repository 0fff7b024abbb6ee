"""Pages: the history as pages for people, with a JSON twin beside each; written as files by `site`, sent by `serve`.

addresses  names as parts of paths
data       what pages ask of a history
pictures   strips of runs, gates over time
render     a page from data: template, links, JSON
views      each kind of page as a function
site       all pages as files
serve      the same pages over HTTP, uploads, a check that is running
"""
