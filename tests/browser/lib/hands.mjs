// How a person does something with a page: with a pointer, or with a keyboard and nothing else.
import assert from 'node:assert/strict'
import { field } from './browser.mjs'

const pointer = {
  activate: (page, element) => element.click(),
  enter: (page, element) => element.focus(),
  async select(page, element, text) {
    await element.select(await element.evaluate((each, text) => [...each.options].find(option => option.text === text).value, text))
  },
}

const keys = {
  async activate(page, element) {
    await enter(page, element)
    await page.keyboard.press(await element.evaluate(each => each.type === 'checkbox') ? ' ' : 'Enter')
  },
  enter,
  async select(page, element, text) {
    await enter(page, element)
    await page.keyboard.type(text)
  },
}

export const HANDS = { pointer, keys }

/** Moves the focus to an element, or the mark of a list of choices. */
async function enter(page, element) {
  const passed = []
  for (let key = await element.evaluate(towards); key; key = await element.evaluate(towards)) {
    passed.push(`${key} from ${await page.evaluate(() => (document.activeElement.ariaLabel ?? document.activeElement.innerText ?? '').slice(0, 30))}`)
    assert.ok(passed.length < 200, `${await element.evaluate(each => each.outerHTML.slice(0, 200))} is not reached:\n${passed.slice(-20).join('\n')}`)
    if (key === 'Shift+Tab') {
      await page.keyboard.down('Shift')
      await page.keyboard.press('Tab')
      await page.keyboard.up('Shift')
    } else await page.keyboard.press(key)
  }
}

/** In the page: the key that somebody would press next to get there, or `null` if they are there. */
function towards(goal) {
  const at = document.activeElement
  if (goal.role === 'option') return at.getAttribute('aria-activedescendant') === goal.id ? null : 'ArrowDown'
  if (at === goal) return null
  const isAbove = Boolean(at && at !== document.body && at.compareDocumentPosition(goal) & Node.DOCUMENT_POSITION_PRECEDING)
  const [row, from] = [goal.closest('.row'), at?.closest('.row')]
  // Tab leads to one message and what is in it, the arrows from there to others.
  const isBetween = row && from && row !== from && row.closest('.rows') === from.closest('.rows')
  if (goal.closest('.menu') || (isBetween && at === from)) return isAbove ? 'ArrowUp' : 'ArrowDown'
  return isAbove || isBetween ? 'Shift+Tab' : 'Tab'
}

/** Writes into the field with that label, in place of what is in it. */
export async function write(hand, page, label, text) {
  await page.bringToFront()
  const control = await field(page, label)
  await hand.enter(page, control)
  await control.evaluate(each => each.select?.())
  await page.keyboard.type(text)
}
