// What can wait until people see something.

/** Runs a function right after the next frame has been drawn. @param {() => void} run */
export const afterPaint = run => requestAnimationFrame(() => setTimeout(run))
