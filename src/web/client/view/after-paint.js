// Work that is deferred until the page has been painted.

/** Runs a function right after the next frame has been drawn. @param {() => void} run */
export const afterPaint = run => requestAnimationFrame(() => setTimeout(run))
