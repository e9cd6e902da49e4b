import * as nodeTest from 'node:test'

/** The functions of a test runner that a suite is written with. */
export interface TestRunner {
  describe(name: string, tests: () => void): unknown
  /** @param timeoutMs ignored by runners that have no such argument */
  it(name: string, test: () => Promise<void>, timeoutMs?: number): unknown
  /** Called after the tests of a `describe`. */
  after(done: () => Promise<void>): unknown
}

/** The runner of the file that is running: that of Vitest, one with globals (Jest, Mocha, Jasmine), else `node:test`. */
export function runningTests(): TestRunner {
  const ofVitest: unknown = Reflect.get(globalThis, '__vitest_index__')
  return runnerIn(ofVitest) ?? runnerIn(globalThis) ?? nodeRunner
}

const nodeRunner: TestRunner = {
  describe: (name, tests) => void nodeTest.describe(name, tests),
  it: (name, test, timeoutMs) =>
    void nodeTest.it(name, { ...(timeoutMs !== undefined && { timeout: timeoutMs }) }, test),
  after: done => nodeTest.after(done),
}

/** A test that sets its time limit where the runner has no argument for it: Mocha does that by `this`. */
function withTimeout(test: () => Promise<void>, timeoutMs: number | undefined) {
  return function (this: unknown): Promise<void> {
    const set: unknown = typeof this === 'object' && this !== null ? Reflect.get(this, 'timeout') : undefined
    if (timeoutMs !== undefined && typeof set === 'function') set.call(this, timeoutMs)
    return test()
  }
}

function runnerIn(names: unknown): TestRunner | undefined {
  if (typeof names !== 'object' || names === null) return undefined
  const [describe, it, afterAll, after] = ['describe', 'it', 'afterAll', 'after'].map(name => Reflect.get(names, name))
  const last: unknown = afterAll ?? after
  if (typeof describe !== 'function' || typeof it !== 'function' || typeof last !== 'function') return undefined
  return {
    describe: (name, tests) => describe(name, tests),
    it: (name, test, timeoutMs) => it(name, withTimeout(test, timeoutMs), timeoutMs),
    after: done => last(done),
  }
}
