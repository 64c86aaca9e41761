//! Line plots as SVG.

use std::fmt::Write;

use super::table::number;

pub struct Plot<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Whether equal distances along the horizontal axis are equal factors.
    pub is_logarithmic: bool,
    /// Each with its name.
    pub lines: Vec<(&'a str, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 50.0;
const HALF_DIGIT: f64 = 4.0;
/// More distinct values than this get marks at round distances instead of one for each.
const MARKS: usize = 8;
const COLOURS: [&str; 4] = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700"];

impl Plot<'_> {
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points.iter().copied());
        let mut values: Vec<f64> = points().map(|(x, _)| x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return String::new() };
        let step = round_step(points().map(|(_, y)| y).fold(0.0, f64::max));
        let top = (points().map(|(_, y)| y).fold(0.0, f64::max) / step).ceil() * step;
        let scale = |x: f64| if self.is_logarithmic { x.ln() } else { x };
        let span = (scale(last) - scale(first)).max(f64::MIN_POSITIVE);
        let across = |x: f64| LEFT + (scale(x) - scale(first)) / span * (WIDTH - LEFT - RIGHT);
        let down = |y: f64| HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);
        let mut svg = self.frame();
        let marks = if values.len() <= MARKS { values } else { every(round_step(last - first), last) };
        for x in marks {
            let (mark, bottom) = (plain(x), HEIGHT - BOTTOM + 18.0);
            let at = across(x).min(WIDTH - HALF_DIGIT * mark.len() as f64); // a long last one stays in the picture
            text(&mut svg, at, bottom, "middle", &mark);
        }
        for y in every(step, top) {
            let at = down(y);
            _ = writeln!(svg, r##"<path d="M{LEFT} {at:.1}H{}" stroke="#d0d7de"/>"##, WIDTH - RIGHT);
            text(&mut svg, LEFT - 8.0, at + 4.0, "end", &plain(y));
        }
        for (n, (name, points)) in self.lines.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            let path = points.iter().map(|(x, y)| format!("{:.1},{:.1}", across(*x), down(*y)));
            let path = path.collect::<Vec<_>>().join(" ");
            _ = writeln!(svg, r#"<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>"#);
            let at = LEFT + n as f64 * 160.0;
            _ = writeln!(svg, r#"<path d="M{at} 38h18" stroke="{colour}" stroke-width="2"/>"#);
            text(&mut svg, at + 24.0, 42.0, "start", name);
        }
        svg + "</svg>\n"
    }

    /// The ground, the title and the names of the axes.
    fn frame(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        text(&mut svg, LEFT, 22.0, "start", self.title);
        text(&mut svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0, "middle", self.x);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let turn = format!(r#"<g transform="translate(16 {middle}) rotate(-90)">"#);
        svg.push_str(&turn);
        text(&mut svg, 0.0, 0.0, "middle", self.y);
        svg + "</g>\n"
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    _ = writeln!(svg, r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="#1f2328">{words}</text>"##);
}

/// A step of 1, 2 or 5 times a power of ten that divides a range into some five parts.
fn round_step(range: f64) -> f64 {
    let rough = (range / 5.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough).unwrap_or(power)
}

fn every(step: f64, last: f64) -> Vec<f64> {
    (0..=(last / step + 0.001) as usize).map(|n| n as f64 * step).collect()
}

/// Without the digits after the point that a whole number does not have.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value < 100.0 { format!("{value:.0}") } else { number(value) }
}
