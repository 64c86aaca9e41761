// A picture that can be made larger and moved: by wheel, pinch, press and keyboard.

import { computed, effect } from '../../base/signal.js'
import { direction } from '../../text/words.js'
import { h } from '../../view/element.js'

/** How many times larger than what fits. */
const LARGEST = 8
/** Pixels that an arrow moves, and that a finger must move to go on to another picture. */
const STEP = 60
const SWIPE = 60
/** Pixels of a copy's longer side. */
const COPY = 1200

/** @typedef {{ copy: string, whole: string, width: number, height: number, label: string }} File `copy` is shown until it is not sharp enough. */

/**
 * @param {() => File} file Another one is shown in the same frame, which has the focus.
 * @param {{ older: () => void, newer: () => void }} options
 */
export function zooming(file, { older, newer }) {
  // The same picture may come again, with more that is known of it: that changes nothing here.
  const [first, whole] = [computed(() => file().copy), computed(() => file().whole)]
  const image = h('img', { src: () => first.value, alt: () => file().label, width: () => file().width, height: () => file().height, draggable: 'false' })
  const frame = h('div', { class: 'viewer-frame', tabindex: 0, autofocus: true, role: 'group', 'aria-label': () => file().label }, image)
  let [scale, x, y] = [1, 0, 0]
  let isWhole = false

  /** The copy is sharp enough for most windows; the picture itself comes when it is not. */
  function sharpen() {
    const { width, height } = file()
    const seen = Math.min(innerWidth, innerHeight * width / height) * devicePixelRatio * scale
    if (isWhole || seen <= COPY) return
    isWhole = true
    const [loaded, wanted] = [new Image(), whole.peek()]
    loaded.src = wanted
    loaded.decode().then(() => { if (whole.peek() === wanted) image.src = wanted }, () => {})
  }
  function draw() {
    const [across, down] = [frame.clientWidth * (scale - 1) / 2, frame.clientHeight * (scale - 1) / 2]
    x = Math.min(Math.max(x, -across), across)
    y = Math.min(Math.max(y, -down), down)
    image.style.setProperty('transform', `translate(${x}px, ${y}px) scale(${scale})`)
    frame.classList.toggle('large', scale > 1)
    sharpen()
  }
  /** @param {number} to @param {{ clientX: number, clientY: number }} [about] What stays where it is. */
  function enlarge(to, about) {
    const next = Math.min(Math.max(to, 1), LARGEST)
    const box = frame.getBoundingClientRect()
    const [fromX, fromY] = about ? [about.clientX - box.left - box.width / 2, about.clientY - box.top - box.height / 2] : [0, 0]
    x = fromX - (fromX - x) * next / scale
    y = fromY - (fromY - y) * next / scale
    scale = next
    draw()
  }
  /** Goes on to the picture on a side of the screen: the older one is where one begins to read. @param {boolean} isLeft */
  const goOn = isLeft => (isLeft === (direction.peek() === 'rtl') ? newer() : older())

  frame.addEventListener('wheel', event => {
    event.preventDefault()
    enlarge(scale * Math.exp(-event.deltaY / 300), event)
  }, { passive: false })
  frame.addEventListener('dblclick', event => enlarge(scale > 1 ? 1 : 2.5, event))
  frame.addEventListener('keydown', event => {
    const arrow = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] })[event.key]
    if (event.key === '+' || event.key === '=') enlarge(scale * 1.25)
    else if (event.key === '-') enlarge(scale / 1.25)
    else if (event.key === '0') enlarge(1)
    else if (event.key === 'PageUp') older()
    else if (event.key === 'PageDown') newer()
    else if (arrow && scale > 1) {
      x += arrow[0]
      y += arrow[1]
      draw()
    } else if (arrow && arrow[0] !== 0) goOn(arrow[0] > 0)
    else return
    event.preventDefault()
  })
  fingers(frame, {
    isLarge: () => scale > 1,
    move: (right, down) => {
      x += right
      y += down
      draw()
    },
    pinch: (times, about) => enlarge(scale * times, about),
    swipe: goOn,
  })
  effect(() => {
    isWhole = whole.value === first.peek()
    ;[scale, x, y] = [1, 0, 0]
    requestAnimationFrame(draw)
  })
  return frame
}

/**
 * @param {HTMLElement} frame
 * @param {{ isLarge: () => boolean, move: (right: number, down: number) => void, pinch: (times: number, about: { clientX: number, clientY: number }) => void,
 *   swipe: (isLeft: boolean) => void }} does
 */
function fingers(frame, does) {
  /** @type {Map<number, PointerEvent>} */
  const down = new Map()
  let across = 0
  frame.addEventListener('pointerdown', event => {
    frame.setPointerCapture(event.pointerId)
    down.set(event.pointerId, event)
    across = 0
  })
  frame.addEventListener('pointermove', event => {
    const before = down.get(event.pointerId)
    if (!before) return
    const [right, lower] = [event.clientX - before.clientX, event.clientY - before.clientY]
    const other = [...down.values()].find(each => each.pointerId !== event.pointerId)
    if (other) does.pinch(distance(event, other) / Math.max(distance(before, other), 1), middle(event, other))
    else if (does.isLarge()) does.move(right, lower)
    else across += right
    down.set(event.pointerId, event)
  })
  /** @param {PointerEvent} event */
  const up = event => {
    down.delete(event.pointerId)
    // To the right comes what is on the left.
    if (down.size === 0 && !does.isLarge() && Math.abs(across) > SWIPE) does.swipe(across > 0)
  }
  frame.addEventListener('pointerup', up)
  frame.addEventListener('pointercancel', event => down.delete(event.pointerId))
}

/** @param {PointerEvent} one @param {PointerEvent} other */
const distance = (one, other) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)

/** @param {PointerEvent} one @param {PointerEvent} other */
const middle = (one, other) => ({ clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 })
