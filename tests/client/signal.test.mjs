// Signals, computed values, effects and their owners.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { batch, computed, effect, liveEffects, onEnd, Owner, signal, untracked } from '../../src/web/client/base/signal.js'

/** An effect that notes what it reads. */
const noting = read => {
  const seen = []
  const end = effect(() => void seen.push(read()))
  return { seen, end }
}

test('an effect runs at once, and again after each change', () => {
  const name = signal('ada')
  const { seen, end } = noting(() => name.value)
  name.value = 'grace'
  name.value = 'grace'
  end()
  name.value = 'bob'
  assert.deepEqual(seen, ['ada', 'grace'])
})

test('an effect depends on what its last run read', () => {
  const [first, second, isFirst] = [signal(1), signal(2), signal(true)]
  const { seen } = noting(() => (isFirst.value ? first.value : second.value))
  second.value = 3
  isFirst.value = false
  first.value = 4
  second.value = 5
  assert.deepEqual(seen, [1, 3, 5])
})

test('a batch runs effects once, at its end', () => {
  const [one, other] = [signal(1), signal(1)]
  const { seen } = noting(() => one.value + other.value)
  batch(() => {
    one.value = 2
    batch(() => void (other.value = 2))
    assert.deepEqual(seen, [2])
  })
  assert.deepEqual(seen, [2, 4])
})

test('a computed value is made when it is read, and only after a change', () => {
  let times = 0
  const [one, unrelated] = [signal(1), signal(1)]
  const double = computed(() => (times += 1, one.value * 2))
  assert.equal(times, 0)
  assert.equal(double.value + double.value, 4)
  assert.equal(times, 1)
  unrelated.value = 2
  one.value = 2
  assert.equal(times, 1)
  assert.equal(double.value, 4)
  assert.equal(times, 2)
})

test('effects see computed values of computed values', () => {
  const count = signal(1)
  const double = computed(() => count.value * 2)
  const text = computed(() => `${double.value}`)
  const { seen } = noting(() => text.value)
  count.value = 2
  assert.deepEqual(seen, ['2', '4'])
})

test('a diamond is consistent: no effect sees half of a change', () => {
  const count = signal(1)
  const [less, more] = [computed(() => count.value - 1), computed(() => count.value + 1)]
  const { seen } = noting(() => more.value - less.value)
  count.value = 5
  assert.ok(seen.every(difference => difference === 2), seen.join())
})

test('peek and untracked read without subscribing', () => {
  const name = signal('ada')
  const { seen } = noting(() => [name.peek(), untracked(() => name.value)].join())
  name.value = 'grace'
  assert.deepEqual(seen, ['ada,ada'])
})

test('what an effect made ends before it runs again, and with it', () => {
  const [outer, inner, told] = [signal(1), signal(1), []]
  const before = liveEffects()
  const end = effect(() => {
    const at = outer.value
    effect(() => void told.push(`${at}:${inner.value}`))
    onEnd(() => told.push(`end ${at}`))
  })
  outer.value = 2
  inner.value = 2
  end()
  inner.value = 3
  assert.deepEqual(told, ['1:1', 'end 1', '2:1', '2:2', 'end 2'])
  assert.equal(liveEffects(), before)
})

test('an owner ends all that was made in it, inner owners included', () => {
  const count = signal(0)
  const seen = []
  const owner = new Owner()
  owner.run(() => {
    effect(() => void seen.push(count.value))
    new Owner().run(() => effect(() => void seen.push(-count.value)))
  })
  owner.end()
  count.value = 1
  assert.deepEqual(seen, [0, -0])
})

test('an effect that is made while another runs does not subscribe it', () => {
  const [outer, inner] = [signal(1), signal(1)]
  let runs = 0
  effect(() => {
    runs += 1
    outer.value
    new Owner().run(() => inner.value)
  })
  inner.value = 2
  assert.equal(runs, 1)
})

test('an effect that ends in a batch does not run after it', () => {
  const count = signal(0)
  const { seen, end } = noting(() => count.value)
  batch(() => {
    count.value = 1
    end()
  })
  assert.deepEqual(seen, [0])
})

test('effects that cause each other without end are stopped', () => {
  const [one, other] = [signal(0), signal(0)]
  effect(() => void (other.value = one.value + 1))
  assert.throws(() => effect(() => void (one.value = other.value + 1)), /without end/)
})

test('a computed value that nobody listens to is kept while it is right', () => {
  const long = signal(1)
  let times = 0
  const inner = computed(() => (times += 1, long.value))
  const outer = computed(() => inner.value + 1)
  const { end } = noting(() => outer.value)
  assert.deepEqual([outer.peek(), times], [2, 1])
  end()
  assert.deepEqual([outer.peek(), times], [2, 1])
  long.value = 2
  assert.deepEqual([outer.peek(), outer.value, times], [3, 3, 2])
  const { seen } = noting(() => outer.value)
  long.value = 3
  assert.deepEqual([seen, times], [[3, 4], 3])
})

/** A computed value of a signal, after its reader has gone. @param {{ value: number }} long */
function left(long) {
  const short = computed(() => long.value)
  noting(() => short.value).end()
  return new WeakRef(short)
}

test('a signal does not hold the computed values that nobody listens to', async () => {
  const long = signal(1)
  const short = left(long)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  await new Promise(done => setTimeout(done))
  collect()
  assert.equal(short.deref(), undefined)
  assert.equal(long.value, 1)
})
