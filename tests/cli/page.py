#!/usr/bin/env python3
"""Prints the text of an HTML page, one line per piece, if the page stands alone: all elements are closed
correctly, ids are unique, there is no script, it loads nothing, and all links lead to places on the
page. Otherwise prints the defect and fails.
"""
import html.parser
import sys

VOID = {'meta', 'br', 'hr', 'img', 'input', 'link'}
ALLOWED = {'class', 'id', 'href', 'style', 'open', 'lang', 'charset', 'http-equiv', 'content', 'name', 'role',
           'aria-label', 'aria-hidden', 'datetime', 'colspan', 'width', 'height', 'x', 'y', 'x1', 'x2', 'y1', 'y2',
           'dx', 'rx', 'd', 'marker-end', 'markerwidth', 'markerheight', 'refx', 'refy', 'orient'}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.wrong, self.text = [], set(), set(), [], []

    def handle_starttag(self, tag, attrs):
        self.look(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def look(self, tag, attrs):
        if tag in ('script', 'img', 'iframe', 'link', 'object'):
            self.wrong.append(f'<{tag}>')
        for name, value in attrs:
            if name not in ALLOWED:
                self.wrong.append(f'<{tag} {name}>')
            if name == 'id':
                if value in self.ids:
                    self.wrong.append(f'the id {value} is there twice')
                self.ids.add(value)
            if name == 'href':
                self.links.add(value)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f'</{tag}> at {self.getpos()}')

    def handle_data(self, data):
        if self.open and self.open[-1] == 'style':
            if 'url(' in data or '@import' in data:
                self.wrong.append('the style sheet asks for something')
        elif data.strip():
            self.text.append(data.strip('\n'))


def main():
    page = Page()
    page.feed(open(sys.argv[1], encoding='utf-8').read())  # fails if it is not UTF-8
    page.close()
    page.wrong += [f'<{tag}> is not closed' for tag in page.open]
    page.wrong += [f'the link {link} leads nowhere' for link in page.links if link.lstrip('#') not in page.ids]
    if page.wrong:
        sys.exit('\n'.join(page.wrong))
    print('\n'.join(page.text))


main()
