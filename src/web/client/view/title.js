// The title of the page, and what stands before it.

import { effect, signal } from '../base/signal.js'

/** What is shown. */
export const pageTitle = signal('')
/** What calls the person: a count, or a sign. Every title has it, whatever is shown. */
export const titleMark = signal('')

effect(() => {
  const [title, mark] = [pageTitle.value, titleMark.value]
  if (title) document.title = mark ? `${mark} ${title}` : title
})
