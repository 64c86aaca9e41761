/** Browsers without `field-sizing` are told the height that a field's text needs. @param {HTMLTextAreaElement} area */
export function grow(area) {
  if (CSS.supports('field-sizing', 'content')) return
  area.style.setProperty('height', 'auto')
  area.style.setProperty('height', `${area.scrollHeight}px`)
}
