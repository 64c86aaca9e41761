// What a log-in came from, as people would say it.

/** Each with the sign in the `User-Agent`; the first that fits counts, since browsers also name those that they resemble. */
const BROWSERS = [
  ['Edge', /\bEdgA?\//], ['Opera', /\bOPR\//], ['Samsung Internet', /SamsungBrowser\//], ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chromium', /\bChromium\//], ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//], ['Safari', /\bSafari\//], ['curl', /^curl\//],
]

const SYSTEMS = [
  ['iPhone', /iPhone/], ['iPad', /iPad/], ['Android', /Android/], ['Windows', /Windows/], ['macOS', /Mac OS X|Macintosh/],
  ['ChromeOS', /CrOS/], ['Linux', /Linux|X11/],
]

/**
 * Names of products only, which need no translation: `Firefox · Linux`. A program that is no browser is shown by its first word.
 *
 * @param {string} userAgent
 */
export function device(userAgent) {
  const browser = find(BROWSERS, userAgent)
  const system = find(SYSTEMS, userAgent)
  if (!browser && !system) return userAgent.split(/[\s/]/)[0]
  return [browser, system].filter(Boolean).join(' · ')
}

/** @param {(string | RegExp)[][]} known @param {string} userAgent */
const find = (known, userAgent) =>
  /** @type {string | undefined} */ (known.find(([, sign]) => /** @type {RegExp} */ (sign).test(userAgent))?.[0])
