"""The page of a report is valid HTML for all rows and names."""

from html.parser import HTMLParser

from headrace.pipeline import Pipeline, Source, Validate

VOID = {"meta"}


class Page(HTMLParser):
    """The text of a page whose elements are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, _attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_shows_rejected_rows_with_reasons(ran, rows, tmp_path):
    rows(tmp_path / "<raw>&.jsonl", {"a": 1}, {"a": 3}, b"bad")
    stages = [Validate(rules=["a < 2 and '<b>&' != a"])]
    made = Pipeline("p", "out", Source("<raw>&.jsonl"), stages, base=str(tmp_path))
    for said in ("made: for the first time", "up to date"):
        made.run()
        page = Page((tmp_path / "out/report.html").read_text())
        assert page.open == []
        assert said in page.text
        assert "validate: it breaks the rule a < 2 and '<b>&' != a" in page.text
        assert "every line is accounted for" in page.text
