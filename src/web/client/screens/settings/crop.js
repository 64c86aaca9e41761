// Cuts a square out of a picture, by pointer, wheel and keyboard.

import { signal } from '../../base/signal.js'
import { t } from '../../text/words.js'
import { openDialog } from '../../view/dialog.js'
import { h } from '../../view/element.js'
import { say } from '../../view/toast.js'

/** Pixels of a side of what is cut out. */
const CUT = 512
/** How many times larger than the smallest that fills the square. */
const LARGEST = 4
/** Pixels of one press of an arrow. */
const STEP = 8
/** @type {Record<string, [number, number]>} Where an arrow moves the picture. */
const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }

/** The part of a picture that the person has chosen; none if they leave. @param {File} file @returns {Promise<Blob | undefined>} */
export async function crop(file) {
  const picture = await createImageBitmap(file).catch(() => null)
  if (!picture) {
    say(t('faces.unreadable'))
    return undefined
  }
  const chosen = await openDialog({
    title: t('faces.cropTitle'),
    className: 'crop',
    body: close => frame(picture, canvas => canvas.toBlob(cut => close(cut ?? undefined), file.type === 'image/jpeg' ? 'image/jpeg' : 'image/png', 0.92)),
  })
  picture.close()
  return /** @type {Blob | undefined} */ (chosen)
}

/** @param {ImageBitmap} picture @param {(canvas: HTMLCanvasElement) => void} done */
function frame(picture, done) {
  const canvas = h('canvas', { width: CUT, height: CUT, tabindex: 0, role: 'img', 'aria-label': t('faces.cropLabel'), 'aria-describedby': 'crop-hint' })
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  const least = CUT / Math.min(picture.width, picture.height)
  const zoom = signal(1)
  // The middle of the square, in pixels of the picture.
  let [x, y] = [picture.width / 2, picture.height / 2]

  function draw() {
    const scale = least * zoom.peek()
    const half = CUT / scale / 2
    x = Math.min(Math.max(x, half), picture.width - half)
    y = Math.min(Math.max(y, half), picture.height - half)
    context.clearRect(0, 0, CUT, CUT)
    context.drawImage(picture, x - half, y - half, 2 * half, 2 * half, 0, 0, CUT, CUT)
  }
  /** Moves the picture under the square by pixels of the screen. @param {number} right @param {number} down */
  function move(right, down) {
    const scale = least * zoom.peek() * canvas.clientWidth / CUT
    x -= right / scale
    y -= down / scale
    draw()
  }
  /** @param {number} value */
  function enlarge(value) {
    zoom.value = Math.min(Math.max(value, 1), LARGEST)
    draw()
  }

  canvas.addEventListener('pointerdown', event => canvas.setPointerCapture(event.pointerId))
  canvas.addEventListener('pointermove', event => {
    if (canvas.hasPointerCapture(event.pointerId)) move(event.movementX, event.movementY)
  })
  canvas.addEventListener('wheel', event => {
    event.preventDefault()
    enlarge(zoom.peek() * (event.deltaY < 0 ? 1.1 : 1 / 1.1))
  }, { passive: false })
  canvas.addEventListener('keydown', event => {
    const arrow = ARROWS[event.key]
    if (arrow) move(...arrow)
    else if (event.key === '+' || event.key === '=') enlarge(zoom.peek() * 1.1)
    else if (event.key === '-') enlarge(zoom.peek() / 1.1)
    else return
    event.preventDefault()
  })
  draw()
  return [
    canvas,
    h('p', { id: 'crop-hint', class: 'quiet small' }, t('faces.cropHint')),
    h('label', { class: 'crop-zoom' }, t('faces.cropZoom'), h('input', {
      type: 'range', min: 1, max: LARGEST, step: 0.01, value: () => String(zoom.value),
      oninput: (/** @type {Event} */ { target }) => enlarge(Number(/** @type {HTMLInputElement} */ (target).value)),
    })),
    h('p', { class: 'dialog-buttons' }, h('button', { type: 'button', class: 'button primary', onclick: () => done(canvas) }, t('faces.cropSave'))),
  ]
}
