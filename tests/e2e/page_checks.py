"""What an eye would see, measured in the browser: contrast of every text and of every bar, and whether anything sticks out."""

from __future__ import annotations

from .browser import Tab

# https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio, of the colours as they are computed.
_CONTRAST = """(() => {
    const channel = value => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
    const numbers = text => (text.match(/[0-9.]+/g) || []).map(Number);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const [r, g, b, a] = numbers(getComputedStyle(at).backgroundColor);
            if (a === undefined ? r !== undefined : a > 0) return [r, g, b];
        }
        return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    };
    const bad = [];
    for (const details of document.querySelectorAll("details")) details.open = true;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement, style = getComputedStyle(element);
        if (!texts.currentNode.data.trim() || !element.getClientRects().length) continue;
        if (element.closest("svg, option, .skip")) continue;
        const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 600;
        const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
        const found = ratio(numbers(style.color).slice(0, 3), behind(element));
        seen += 1;
        if (found < least) bad.push(`${texts.currentNode.data.trim().slice(0, 30)}: ${found.toFixed(2)} < ${least}`);
        if (size < 12) bad.push(`${texts.currentNode.data.trim().slice(0, 30)}: ${size}px is too small`);
    }
    for (const bar of document.querySelectorAll("rect[class]")) {
        const svg = bar.ownerSVGElement;
        const found = ratio(numbers(getComputedStyle(bar).fill).slice(0, 3), behind(svg));
        if (found < 3) bad.push(`${bar.getAttribute("class")}: ${found.toFixed(2)} < 3`);
    }
    return {seen, bad: [...new Set(bad)]};
})()"""
_STICKING_OUT = """(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("body *")]
        .filter(one => one.getBoundingClientRect().right > width + 1 && !one.closest(".wide, pre, .skip"))
        .map(one => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 30)}`).slice(0, 5);
})()"""


def low_contrasts(tab: Tab) -> list[str]:
    """Texts and bars that cannot be read by everybody, all folds opened. An empty page has none, and is a failure."""
    found = tab.run(_CONTRAST)
    assert found["seen"] > 5, "there is next to nothing on the page"
    bad: list[str] = found["bad"]
    return bad


def sticking_out(tab: Tab) -> list[str]:
    """What makes the page wider than its window."""
    found: list[str] = tab.run(_STICKING_OUT)
    return found
