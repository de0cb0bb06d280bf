//! Studies: Markdown files and pictures of a folder.
//!
//! A study may quote output of contenders. Only the HTML elements for collapsible sections are kept; other
//! HTML is shown as text. Links to the web, to anchors and to other studies are kept, others are removed.
//! Pictures are embedded.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::address::is_name;
use netdyno_lab_analysis::report::plain;

/// Maximum size of a study or picture.
const BYTES_MAX: u64 = 4 << 20;
/// Maximum number of studies.
const COUNT_MAX: usize = 1000;
/// File suffixes and media types of pictures.
const KINDS: [(&str, &str); 2] = [(".svg", "image/svg+xml"), (".png", "image/png")];
/// Opening tag of the scrolling container of a picture.
const SCROLL: &str = "<span class=\"scroll\" tabindex=\"0\">";
/// HTML tags that are kept.
const DETAILS_TAGS: [&str; 4] = ["<details>", "</details>", "<summary>", "</summary>"];

/// The studies of a folder.
#[derive(Debug, Clone)]
pub struct Studies {
    folder: PathBuf,
}

/// A rendered study.
#[derive(Debug)]
pub(super) struct Study {
    /// Its first heading.
    pub(super) title: String,
    /// The rest, as HTML.
    pub(super) body: String,
}

impl Studies {
    /// The studies of `folder`.
    pub fn new(folder: &Path) -> Studies {
        Studies { folder: folder.to_owned() }
    }

    /// Sorted names of the studies. Empty if there is no folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = files
            .filter_map(|file| file.strip_suffix(".md").filter(|n| is_name(n)).map(str::to_owned))
            .take(COUNT_MAX)
            .collect();
        names.sort();
        names
    }

    /// Renders a study; none if there is no such file or it is not UTF-8.
    pub(super) fn get(&self, name: &str) -> Option<Study> {
        let text = String::from_utf8(self.file(&format!("{name}.md"))?).ok()?;
        Some(render(&plain(&text), &self.names(), |file| self.picture(file)))
    }

    /// A picture of the folder as a `data:` URL.
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

/// Renders Markdown. `others` are the names of all studies.
fn render(text: &str, others: &[String], picture: impl Fn(&str) -> Option<String>) -> Study {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut title = String::new();
    let (mut in_title, mut has_title) = (false, false);
    // For each open link, whether it is kept.
    let mut links = Vec::new();
    // Number of open images: the alternative text of an image can contain images.
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
            Event::Html(html) | Event::InlineHtml(html) => events.push(details_or_text(html)),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = target(&dest_url, others);
                links.push(target.is_some());
                events.extend(
                    target.map(|url| Event::Start(Tag::Link { link_type, dest_url: url.into(), title, id })),
                );
            }
            Event::End(TagEnd::Link) => {
                let is_link = links.pop().unwrap_or(false);
                events.extend(is_link.then_some(Event::End(TagEnd::Link)));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                // A picture outside the folder is replaced by its alternative text.
                let url = picture(&dest_url).unwrap_or_default().into();
                // Wide pictures scroll on small screens instead of shrinking.
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
    // Wide tables scroll. The policy of a page forbids style attributes.
    let mut body = body
        .replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>");
    for cell in ["td", "th"] {
        for side in ["left", "center", "right"] {
            let styled = format!("<{cell} style=\"text-align: {side}\">");
            body = body.replace(&styled, &format!("<{cell} class=\"{side}\">"));
        }
    }
    Study { title, body }
}

fn details_or_text(html: CowStr<'_>) -> Event<'_> {
    let text = html.trim();
    if text.starts_with("<!--") && text.ends_with("-->") {
        Event::Text(CowStr::Borrowed(""))
    } else if is_details(text) {
        Event::Html(html)
    } else {
        Event::Text(html)
    }
}

/// Whether HTML consists only of the tags that are kept, and plain text between them.
fn is_details(html: &str) -> bool {
    let mut rest = html;
    while !rest.is_empty() {
        let tag = DETAILS_TAGS.iter().find(|tag| rest.starts_with(**tag));
        let end = tag.map_or_else(|| rest.find('<').unwrap_or(rest.len()), |tag| tag.len());
        if end == 0 || (tag.is_none() && rest[..end].contains(['>', '&'])) {
            return false;
        }
        rest = &rest[end..];
    }
    true
}

/// The target of a link, or none if the link is removed.
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
    fn only_collapsible_sections_are_kept_of_html() {
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

    /// Asserts that every tag is one that Markdown generates, with safe attributes.
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
            // Quotes within attribute values are escaped.
            for (i, part) in attributes.split('"').enumerate() {
                let is_allowed =
                    match (i % 2, attributes.split('"').nth(i.wrapping_sub(1)).unwrap_or("").trim()) {
                        (0, _) => {
                            ["", "/", "href=", "src=", "alt=", "title=", "class=", "start=", "tabindex="]
                                .contains(&part.trim())
                        }
                        (_, "href=") => {
                            part.starts_with("http")
                                || part.starts_with('#')
                                || part.starts_with("other.html")
                        }
                        (_, "src=") => part.is_empty(),
                        _ => true,
                    };
                assert!(is_allowed, "{text:?}: {html}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn markdown_never_generates_other_tags(parts in proptest::collection::vec(proptest::sample::select(&[
            "<", ">", "/", "\"", "'", "&", "\n", "\n\n", " ", "    ", "`", "```", "*", "[", "]", "(", ")", "![", "](", "<!--", "-->", "<details>",
            "</details>", "<summary>", "</summary>", "<script>", "</script>", "<svg onload=x>", "javascript:x", "data:text/html,x", "http://x",
            "| a |", "|---:|", "# ", "- ", "1. ", "> ", "x", "onclick=x", "&lt;", "<a href='javascript:x'>", "<![CDATA[", "<?", "[x]: javascript:x",
        ][..]), 0..12)) {
            is_harmless(&parts.concat());
        }
    }

    #[test]
    fn links_to_the_web_anchors_and_studies_are_kept() {
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
    fn only_files_of_the_folder_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("s")).unwrap();
        std::fs::write(folder.path().join("secret.svg"), "no").unwrap();
        std::fs::write(folder.path().join("s/a.svg"), "yes").unwrap();
        std::fs::write(folder.path().join("s/b.md"), "# B\n").unwrap();
        std::fs::write(folder.path().join("s/.hidden.md"), "# no\n").unwrap();
        let studies = Studies::new(&folder.path().join("s"));
        assert_eq!(studies.picture("a.svg").as_deref(), Some("data:image/svg+xml;base64,eWVz"));
        assert_eq!(studies.picture("b.md"), None);
        assert_eq!(studies.picture("../secret.svg"), None);
        assert_eq!(studies.names(), ["b"]);
        assert_eq!(studies.get("b").unwrap().title, "B");
        assert!(studies.get("c").is_none());
        assert!(Studies::new(&folder.path().join("none")).names().is_empty());
    }
}
