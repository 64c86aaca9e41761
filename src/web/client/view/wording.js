// The few words that the parts of `view` need. `main.js` fills them in, since `view` knows no language.

export const wording = {
  /** @type {(error: unknown) => string} Why something failed, for people. */
  explain: error => String(error),
  /** @type {() => string} */
  cancel: () => '',
  /** @type {() => string} */
  close: () => '',
  /** @type {() => string} */
  waiting: () => '',
}
