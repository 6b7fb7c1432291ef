//! Two pictures of what `report.sql` found: ratios as bars, and what depends on a number of leases or
//! clients as lines. On white, as the other pictures of the documentation, so that either theme shows them.

use crate::Result;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const WIDTH: f64 = 880.0;
const OURS: &str = "#2e7d5b";
const OTHERS: &str = "#9aa9ba";
/// Of lines, in their order.
const COLOURS: [&str; 5] = ["#3b6ea5", "#2e7d5b", "#c8553d", "#8a63a8", "#b08a2e"];

/// A row of the results: `kind, section, name, ours, x, value, low, high`, separated by tabs.
struct Point {
    kind: String,
    section: String,
    name: String,
    ours: bool,
    x: f64,
    value: f64,
    low: f64,
    high: f64,
}

impl Point {
    fn read(line: &str) -> Result<Point> {
        let [kind, section, name, ours, x, value, low, high] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("not eight columns: {line}").into());
        };
        Ok(Point {
            kind: kind.into(),
            section: section.into(),
            name: name.into(),
            ours: ours == "t",
            x: x.parse()?,
            value: value.parse()?,
            low: low.parse()?,
            high: high.parse()?,
        })
    }
}

/// The points by section or name, each group where its first point stood.
fn groups<'a>(points: &[&'a Point], key: fn(&Point) -> &str) -> Vec<(&'a str, Vec<&'a Point>)> {
    let mut groups: Vec<(&str, Vec<&Point>)> = Vec::new();
    for &point in points {
        match groups.iter_mut().find(|(name, _)| *name == key(point)) {
            Some((_, members)) => members.push(point),
            None => groups.push((key(point), vec![point])),
        }
    }
    groups
}

fn section(point: &Point) -> &str {
    &point.section
}

fn name(point: &Point) -> &str {
    &point.name
}

/// Draws what there are points for.
pub fn draw(directory: &str, results: &[&str]) -> Result<()> {
    let mut points = Vec::new();
    for file in results {
        for line in fs::read_to_string(file)?.lines() {
            points.push(Point::read(line)?);
        }
    }
    for (kind, picture) in [("ratios", bars as fn(&[&Point]) -> String), ("growth", panels)] {
        let points: Vec<_> = points.iter().filter(|point| point.kind == kind).collect();
        if !points.is_empty() {
            fs::write(Path::new(directory).join(format!("benchmarks-{kind}.svg")), picture(&points))?;
        }
    }
    Ok(())
}

/// The step of an axis that has four to eight of them up to `highest`, and the axis's end.
fn axis(highest: f64) -> (f64, f64) {
    let power = 10f64.powf((highest / 4.0).log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0].map(|step| step * power).into_iter().rfind(|step| highest / step >= 4.0).unwrap_or(power);
    (step, (highest / step).ceil() * step)
}

/// A number as one writes it: 2.5, 1,000,000.
fn number(value: f64) -> String {
    let whole = value.trunc().to_string();
    let grouped = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",");
    let rest = format!("{:.2}", value.fract());
    grouped + rest.trim_start_matches('0').trim_end_matches('0').trim_end_matches('.')
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, attributes: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" {attributes}>{text}</text>"#);
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), attributes: &str) {
    _ = writeln!(svg, r#"<path d="M{:.1} {:.1}L{:.1} {:.1}" {attributes}/>"#, from.0, from.1, to.0, to.1);
}

fn document(height: f64, label: &str, content: &str) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
{content}</svg>
"##
    )
}

/// Ratios as bars, with their quartiles, and the baseline as a line at 1.
fn bars(points: &[&Point]) -> String {
    const LEFT: f64 = 400.0;
    const BAR: f64 = 22.0;
    let (step, end) = axis(points.iter().map(|point| point.high).fold(1.0, f64::max));
    let at = |ratio: f64| LEFT + ratio / end * (WIDTH - LEFT - 60.0);
    let (mut svg, mut grid, mut y, mut texts) = (String::new(), String::new(), 18.0, Vec::new());
    for (title, bars) in groups(points, section) {
        text(&mut svg, (12.0, y + 8.0), "start", r##"fill="#333" font-weight="600""##, title);
        y += 20.0;
        for bar in bars {
            let (middle, colour) = (y + BAR / 2.0, if bar.ours { OURS } else { OTHERS });
            text(&mut svg, (LEFT - 10.0, middle + 4.0), "end", r##"fill="#333" font-size="12""##, &bar.name);
            let (top, width, height) = (y + 3.0, at(bar.value) - LEFT, BAR - 6.0);
            _ = writeln!(
                svg,
                r#"<rect x="{LEFT}" y="{top:.1}" width="{width:.1}" height="{height:.1}" rx="2" fill="{colour}"/>"#
            );
            line(&mut svg, (at(bar.low), middle), (at(bar.high), middle), r##"stroke="#333" stroke-width="1.3""##);
            let beside = (at(bar.high.max(bar.value)) + 6.0, middle + 4.0);
            let legible = r##"fill="#333" font-size="12" stroke="#fff" stroke-width="3" paint-order="stroke""##;
            texts.push((beside, legible, format!("{:.2}", bar.value)));
            y += BAR;
        }
        y += 16.0;
    }
    for tick in 0..=(end / step).round() as usize {
        let ratio = tick as f64 * step;
        line(&mut grid, (at(ratio), 30.0), (at(ratio), y - 8.0), r##"stroke="#eee""##);
        text(&mut svg, (at(ratio), y + 8.0), "middle", r##"fill="#777" font-size="12""##, &number(ratio));
    }
    line(&mut svg, (at(1.0), 30.0), (at(1.0), y - 8.0), r##"stroke="#333" stroke-dasharray="4 3""##);
    for (at, attributes, value) in texts {
        text(&mut svg, at, "start", attributes, &value);
    }
    document(y + 22.0, "Rates of guarded writes and of leases, each over its baseline", &(grid + &svg))
}

/// A panel beside the other for each section, with a line for each name.
fn panels(points: &[&Point]) -> String {
    const TOP: f64 = 40.0;
    const BOTTOM: f64 = 300.0;
    let panels = groups(points, section);
    let (width, mut svg, mut height) = (WIDTH / panels.len() as f64, String::new(), BOTTOM);
    for (number_of, (title, points)) in panels.iter().enumerate() {
        let (left, right) = (width * number_of as f64 + 65.0, width * (number_of + 1) as f64 - 30.0);
        let (step, end) = axis(points.iter().map(|point| point.high).fold(0.0, f64::max));
        let of = |pick: fn(f64, f64) -> f64| points.iter().map(|point| point.x.ln()).reduce(pick).unwrap_or_default();
        let (first, last) = (of(f64::min), of(f64::max));
        let across = |x: f64| left + (x.ln() - first) / (last - first).max(f64::EPSILON) * (right - left);
        let down = |value: f64| BOTTOM - value / end * (BOTTOM - TOP);
        text(&mut svg, (left - 53.0, 22.0), "start", r##"fill="#333" font-weight="600""##, title);
        for tick in 0..=(end / step).round() as usize {
            let (value, grey) = (tick as f64 * step, r##"fill="#777" font-size="12""##);
            line(&mut svg, (left, down(value)), (right, down(value)), r##"stroke="#eee""##);
            text(&mut svg, (left - 8.0, down(value) + 4.0), "end", grey, &number(value));
        }
        let mut places: Vec<_> = points.iter().map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for x in places {
            text(&mut svg, (across(x), BOTTOM + 18.0), "middle", r##"fill="#777" font-size="11""##, &number(x));
        }
        for (at, (name, points)) in groups(points, name).iter().enumerate() {
            let (colour, legend) = (COLOURS[at % COLOURS.len()], BOTTOM + 42.0 + 18.0 * at as f64);
            for point in points {
                let (x, low, high) = (across(point.x), down(point.low), down(point.high));
                line(&mut svg, (x, low), (x, high), &format!(r#"stroke="{colour}" stroke-width="1.3""#));
            }
            let path: Vec<_> =
                points.iter().map(|point| format!("{:.1} {:.1}", across(point.x), down(point.value))).collect();
            _ = writeln!(svg, r#"<path d="M{}" fill="none" stroke="{colour}" stroke-width="2"/>"#, path.join("L"));
            line(
                &mut svg,
                (left, legend - 4.0),
                (left + 22.0, legend - 4.0),
                &format!(r#"stroke="{colour}" stroke-width="2""#),
            );
            text(&mut svg, (left + 30.0, legend), "start", r##"fill="#333" font-size="12""##, name);
            height = height.max(legend);
        }
    }
    document(height + 16.0, "What a call takes with more leases, and the rate of writes with more clients", &svg)
}
