// A small set of icons of one weight, drawn on a square of 20.

import { svg } from './element.js'

/** @type {Record<string, string>} */
const PATHS = {
  archive: 'M3 4h14v4H3zM4.5 8v8h11V8M8 11.5h4',
  at: 'M13 10a3 3 0 1 1-6 0 3 3 0 0 1 6 0zm0-3v4.2c0 2.6 4 2.3 4-1.4A7 7 0 1 0 13.8 16',
  back: 'M12 4l-6 6 6 6',
  bell: 'M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13zM8.5 17h3',
  bold: 'M6 4h5a3 3 0 0 1 0 6H6zm0 6h6a3 3 0 0 1 0 6H6z',
  check: 'M4 10.5l4 4 8-9',
  clip: 'M15.500 9l-5.500 5.500a3.300 3.300 0 0 1-4.700-4.700L11.500 3.600a2.200 2.200 0 0 1 3.100 3.100L8.700 12.600a1 1 0 0 1-1.500-1.500L12 6.300',
  close: 'M5 5l10 10M15 5L5 15',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  door: 'M8 4H4v12h4M12.5 6.5L16 10l-3.5 3.5M16 10H8',
  down: 'M5 8l5 5 5-5',
  edit: 'M4 16l1-4 8.5-8.5 3 3L8 15zM11.5 5.5l3 3',
  eye: 'M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5zm9.7 0a2.2 2.2 0 1 1-4.4 0 2.2 2.2 0 0 1 4.4 0z',
  face: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM7 12c1.500 2.200 4.500 2.200 6 0M7.500 8v.2M12.500 8v.2',
  file: 'M5.500 3h6L15 6.500V17H5.500zM11 3v4h4',
  forward: 'M8 4l6 6-6 6',
  gear: 'M8.6 4.6L8.7 2.5L11.3 2.5L11.4 4.6L12.9 5.2L14.4 3.8L16.2 5.6L14.8 7.1L15.4 8.6L17.5 8.7L17.5 11.3L15.4 11.4L14.8 12.9L16.2 14.4L14.4 16.2L12.9 14.8L11.4 15.4L11.3 17.5L8.7 17.5L8.6 15.4L7.1 14.8L5.6 16.2L3.8 14.4L5.2 12.9L4.6 11.4L2.5 11.3L2.5 8.7L4.6 8.6L5.2 7.1L3.8 5.6L5.6 3.8L7.1 5.2zM12.5 10a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z',
  globe: 'M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0zM3 10h14M10 3c5 4.500 5 9.500 0 14-5-4.500-5-9.500 0-14z',
  hash: 'M7.500 3.500l-1.500 13M14 3.500l-1.500 13M4 7.500h13M3 12.500h13',
  key: 'M10.500 12a3.500 3.500 0 1 1-7 0 3.500 3.500 0 0 1 7 0zm-1-2.500L16 3M13 6l2.500 2.500',
  link: 'M8.500 11.500l3-3M9 6l2-2a3.500 3.500 0 0 1 5 5l-2 2M11 14l-2 2a3.500 3.500 0 0 1-5-5l2-2',
  lock: 'M5 9h10v8H5zM7 9V6.500a3 3 0 0 1 6 0V9',
  mail: 'M3 5h14v10H3zM3 6l7 5.500L17 6',
  more: 'M5 10h.01M10 10h.01M15 10h.01',
  mute: 'M5 13.5V9a5 5 0 0 1 8.5-3.500M15 9v4.500l1.500 1.500H8M8.500 17h3M3.500 3.500l13 14',
  people: 'M9.500 7a2.500 2.500 0 1 1-5 0 2.500 2.500 0 0 1 5 0zM2 16c0-6 10-6 10 0M12 4.700a2.500 2.500 0 0 1 0 4.600M14 11.500c2.500.4 4 2 4 4.500',
  person: 'M13 7a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM4 17c0-7 12-7 12 0',
  pin: 'M7 3h6M8 3v5l-2.500 3h9L12 8V3M10 11v6',
  plus: 'M10 4v12M4 10h12',
  search: 'M13.500 8.500a5 5 0 1 1-10 0 5 5 0 0 1 10 0zM12.300 12.300L17 17',
  send: 'M3 10l14-6-5 13-3-6z',
  slash: 'M3.500 3.500h13v13h-13zM11.500 6.500L8.500 13.500',
  star: 'M10 3l2.100 4.500 4.900.600-3.600 3.400.9 4.900-4.300-2.400-4.300 2.400.9-4.900L3 8.100l4.900-.6z',
  terminal: 'M3 4h14v12H3zM6 8l2.500 2L6 12M10.500 12.500H14',
  threads: 'M4 4h12v8H9l-3.500 3.500V12H4zM7.500 8h5',
  trash: 'M4 6h12M8 6V4h4v2M5.500 6l.7 10.500h7.600L14.500 6',
  warning: 'M10 3.500L17.500 16h-15zM10 8.500v3.500M10 14v.2',
  webhook: 'M7.500 8.500a3 3 0 1 1 4.500-1.500l2.500 4.500M6.500 10l-2 3.500a2.200 2.200 0 1 0 3.300 1.500H13M13 15a2.200 2.200 0 1 0 1.500-3.500',
}

/**
 * @param {string} name
 * @param {{ filled?: boolean }} [options]
 */
export function icon(name, { filled = false } = {}) {
  const path = PATHS[name]
  if (!path) throw new Error(`no icon ${name}`)
  return svg('svg', { class: 'icon', viewBox: '0 0 20 20', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', {
      d: path, fill: filled ? 'currentColor' : 'none', stroke: 'currentColor', 'stroke-width': name === 'more' ? 2.6 : 1.6, 'stroke-linecap': 'round', 'stroke-linejoin': 'round',
    }))
}
