//! Studies: Markdown files of a folder, and the pictures beside them.
//!
//! A study may quote what a contender printed. Of HTML only folding survives; all else that looks like it is shown as text, and a
//! link leads to the web, to a place in the page or to another study, or is no link. Pictures are put into the page.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::address::is_name;
use netdyno_lab_analysis::report::plain;

/// A study that is larger is none.
const BYTES_MAX: u64 = 4 << 20;
/// Studies of a folder at the most.
const COUNT_MAX: usize = 1000;
/// Ends of the names of pictures.
const KINDS: [(&str, &str); 2] = [(".svg", "image/svg+xml"), (".png", "image/png")];
/// Around a picture.
const SCROLL: &str = "<span class=\"scroll\" tabindex=\"0\">";
/// HTML that stays.
const FOLDING: [&str; 4] = ["<details>", "</details>", "<summary>", "</summary>"];

/// The studies of a folder.
#[derive(Debug, Clone)]
pub struct Studies {
    folder: PathBuf,
}

/// A study as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Study {
    /// Its first heading.
    pub title: String,
    /// Below it, as HTML.
    pub body: String,
}

impl Studies {
    /// Those of this folder.
    #[must_use]
    pub fn of(folder: &Path) -> Studies {
        Studies { folder: folder.to_owned() }
    }

    /// Their names, sorted. None where there is no folder.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = files
            .filter_map(|file| file.strip_suffix(".md").filter(|n| is_name(n)).map(str::to_owned))
            .take(COUNT_MAX)
            .collect();
        names.sort();
        names
    }

    /// A study by its name; none where there is no such file, or it is no text.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Study> {
        let text = String::from_utf8(self.file(&format!("{name}.md"))?).ok()?;
        Some(render(&plain(&text), &self.names(), |file| self.picture(file)))
    }

    /// A picture beside the studies, as an address that has all of it.
    fn picture(&self, file: &str) -> Option<String> {
        let kind = KINDS.iter().find_map(|(end, kind)| file.ends_with(end).then_some(kind))?;
        Some(format!("data:{kind};base64,{}", STANDARD.encode(self.file(file)?)))
    }

    fn file(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(name);
        let is_small = std::fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= BYTES_MAX);
        if is_name(name) && is_small { std::fs::read(path).ok() } else { None }
    }
}

/// Turns Markdown into the inside of a page; `others` are the studies that there are.
fn render(text: &str, others: &[String], picture: impl Fn(&str) -> Option<String>) -> Study {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut title = String::new();
    let (mut in_title, mut has_title) = (false, false);
    // Whether each open link is one.
    let mut links = Vec::new();
    // Pictures that are open: one may stand in the text of another.
    let mut images = 0;
    let mut events = Vec::new();
    for event in parser {
        match event {
            Event::Start(Tag::Heading { level: pulldown_cmark::HeadingLevel::H1, .. }) if !has_title => {
                (in_title, has_title) = (true, true);
            }
            Event::End(TagEnd::Heading(_)) if in_title => in_title = false,
            Event::Text(text) | Event::Code(text) if in_title => title.push_str(&text),
            _ if in_title => {}
            Event::Html(html) | Event::InlineHtml(html) => events.push(folding_or_text(html)),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = target(&dest_url, others);
                links.push(target.is_some());
                let link = |url: String| Tag::Link { link_type, dest_url: url.into(), title, id };
                events.extend(target.map(|url| Event::Start(link(url))));
            }
            Event::End(TagEnd::Link) => {
                let is_link = links.pop().unwrap_or(false);
                events.extend(is_link.then_some(Event::End(TagEnd::Link)));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                // One that is not beside it cannot be shown: its text stands there.
                let url = picture(&dest_url).unwrap_or_default().into();
                // On a phone a picture scrolls by itself, or nobody could read what stands in it.
                events.extend((images == 0).then_some(Event::InlineHtml(SCROLL.into())));
                events.push(Event::Start(Tag::Image { link_type, dest_url: url, title, id }));
                images += 1;
            }
            Event::End(TagEnd::Image) => {
                images -= 1;
                events.push(Event::End(TagEnd::Image));
                events.extend((images == 0).then_some(Event::InlineHtml("</span>".into())));
            }
            other => events.push(other),
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    // A wide table scrolls by itself. The policy of a page allows no style in an element.
    let mut body = body
        .replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>");
    for (cell, side) in
        ["td", "th"].into_iter().flat_map(|cell| ["left", "center", "right"].map(|side| (cell, side)))
    {
        let styled = format!("<{cell} style=\"text-align: {side}\">");
        body = body.replace(&styled, &format!("<{cell} class=\"{side}\">"));
    }
    Study { title, body }
}

fn folding_or_text(html: CowStr<'_>) -> Event<'_> {
    let is_folding = |part: &str| {
        let mut rest = part.trim();
        while !rest.is_empty() {
            // Between tags stands text without any.
            let Some(tag) = FOLDING.iter().find(|tag| rest.starts_with(**tag)) else {
                let end = rest.find('<').unwrap_or(rest.len());
                if end == 0 || rest[..end].contains(['>', '&']) {
                    return false;
                }
                rest = &rest[end..];
                continue;
            };
            rest = &rest[tag.len()..];
        }
        true
    };
    if html.trim_start().starts_with("<!--") && html.trim_end().ends_with("-->") {
        Event::Text(CowStr::Borrowed(""))
    } else if is_folding(&html) {
        Event::Html(html)
    } else {
        Event::Text(html)
    }
}

/// Where a link may lead.
fn target(url: &str, others: &[String]) -> Option<String> {
    if url.starts_with("https://") || url.starts_with("http://") || url.starts_with('#') {
        return Some(url.to_owned());
    }
    let (file, place) = url.split_once('#').map_or((url, String::new()), |(f, p)| (f, format!("#{p}")));
    let name = file.strip_suffix(".md").filter(|name| others.iter().any(|other| other == name))?;
    Some(format!("{name}.html{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> String {
        render(text, &["other".to_owned()], |_| None).body
    }

    #[test]
    fn a_study_has_its_title_tables_and_pictures() {
        let study = render(
            "# The `title` of it\n\ntext\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n![p](x.svg)\n",
            &[],
            |f| Some(format!("data:{f}")),
        );
        assert_eq!(study.title, "The title of it");
        assert!(study.body.contains("<div class=\"scroll\" tabindex=\"0\"><table>"), "{}", study.body);
        assert!(study.body.contains(&format!("{SCROLL}<img src=\"data:x.svg\" alt=\"p\"")), "{}", study.body);
        assert_eq!(body("![a ![b](c) d](e)").matches("<span").count(), 1);
        assert!(!study.body.contains("The title") && !study.body.contains("style="), "{}", study.body);
        assert!(study.body.contains("<td class=\"right\">2</td>"), "{}", study.body);
    }

    #[test]
    fn folding_stays_and_no_other_html() {
        let folded = body("<details>\n<summary>All columns</summary>\n\ntext\n\n</details>\n");
        assert!(
            folded.contains("<details>\n<summary>All columns</summary>") && folded.contains("</details>"),
            "{folded}"
        );
        assert!(!body("<!-- results:begin -->\ntext\n").contains("results"));
        for text in [
            "<script>alert(1)</script>\n",
            "a <script>alert(1)</script>\n",
            "<details ontoggle=alert(1) open>\n",
            "<summary><img src=x onerror=alert(1)></summary>\n",
            "<details><script>alert(1)</script></details>\n",
            "<!-- a --><script>alert(1)</script><!-- b -->\n",
            "<svg/onload=alert(1)>\n",
            "![a](x.svg\"onerror=alert(1))\n",
            "[a](javascript:alert(1))\n",
            "[a](JaVaScRiPt:alert(1))\n",
            "[a](data:text/html,<script>alert(1)</script>)\n",
            "<javascript:alert(1)>\n",
            "![a](data:image/svg+xml,<svg/onload=alert(1)>)\n",
            "| <script>alert(1)</script> |\n|---|\n| <b onclick=alert(1)> |\n",
        ] {
            is_harmless(text);
        }
    }

    /// Every tag is one that Markdown makes, with attributes that lead nowhere else.
    fn is_harmless(text: &str) {
        const TAGS: [&str; 31] = [
            "span",
            "p",
            "del",
            "details",
            "summary",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "div",
            "img",
            "a",
            "em",
            "strong",
            "code",
            "pre",
            "ul",
            "ol",
            "li",
            "blockquote",
            "hr",
            "br",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "sup",
        ];
        let html = body(text);
        for (at, _) in html.match_indices('<') {
            let tag = &html[at + 1..at + html[at..].find('>').unwrap()];
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            assert!(TAGS.contains(&name.trim_start_matches('/')), "{text:?}: {html}");
            // Texts in quotes have no quotes: they are escaped.
            for (i, part) in attributes.split('"').enumerate() {
                let is_fine = match (i % 2, attributes.split('"').nth(i.wrapping_sub(1)).unwrap_or("").trim())
                {
                    (0, _) => ["", "/", "href=", "src=", "alt=", "title=", "class=", "start=", "tabindex="]
                        .contains(&part.trim()),
                    (_, "href=") => {
                        part.starts_with("http") || part.starts_with('#') || part.starts_with("other.html")
                    }
                    (_, "src=") => part.is_empty(),
                    _ => true,
                };
                assert!(is_fine, "{text:?}: {html}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn no_markdown_makes_another_tag(parts in proptest::collection::vec(proptest::sample::select(&[
            "<", ">", "/", "\"", "'", "&", "\n", "\n\n", " ", "    ", "`", "```", "*", "[", "]", "(", ")", "![", "](", "<!--", "-->", "<details>",
            "</details>", "<summary>", "</summary>", "<script>", "</script>", "<svg onload=x>", "javascript:x", "data:text/html,x", "http://x",
            "| a |", "|---:|", "# ", "- ", "1. ", "> ", "x", "onclick=x", "&lt;", "<a href='javascript:x'>", "<![CDATA[", "<?", "[x]: javascript:x",
        ][..]), 0..12)) {
            is_harmless(&parts.concat());
        }
    }

    #[test]
    fn links_lead_to_the_web_to_a_place_or_to_another_study() {
        for (link, wanted) in [
            ("https://example.org/a", Some("https://example.org/a")),
            ("#place", Some("#place")),
            ("other.md#place", Some("other.html#place")),
            ("../METHOD.md", None),
            ("absent.md", None),
            ("//example.org", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(target(link, &["other".to_owned()]).as_deref(), wanted);
        }
        assert_eq!(body("[METHOD](../METHOD.md) is there\n"), "<p>METHOD is there</p>\n");
    }

    #[test]
    fn only_what_is_in_the_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("s")).unwrap();
        std::fs::write(folder.path().join("secret.svg"), "no").unwrap();
        std::fs::write(folder.path().join("s/a.svg"), "yes").unwrap();
        std::fs::write(folder.path().join("s/b.md"), "# B\n").unwrap();
        std::fs::write(folder.path().join("s/.hidden.md"), "# no\n").unwrap();
        let studies = Studies::of(&folder.path().join("s"));
        assert_eq!(studies.picture("a.svg").as_deref(), Some("data:image/svg+xml;base64,eWVz"));
        assert_eq!(studies.picture("b.md"), None);
        assert_eq!(studies.picture("../secret.svg"), None);
        assert_eq!(studies.names(), ["b"]);
        assert_eq!(studies.get("b").unwrap().title, "B");
        assert!(studies.get("c").is_none());
        assert!(Studies::of(&folder.path().join("none")).names().is_empty());
    }
}
