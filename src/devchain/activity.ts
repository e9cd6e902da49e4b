import { type Deployment, dollars, ethers, feedAnswer, tides } from './deployment.ts'
import type { Dice } from './dice.ts'
import { type Action, call, type Miner } from './miner.ts'

/** Life of the local chain: prices wander about 2 dollars, the pool follows, the vault earns, supplies grow. */
export class Activity {
  readonly #deployment: Deployment
  readonly #dice: Dice
  #price = 2

  constructor(deployment: Deployment, dice: Dice) {
    this.#deployment = deployment
    this.#dice = dice
  }

  /** A price, a trade that follows it, a deposit, a yield, an emission, an income: nothing reads the same afterwards. */
  async everything(miner: Miner): Promise<Action[]> {
    return [this.price(), await this.trade(miner), this.deposit(), this.yield(), this.emission(), this.treasuryIncome()]
  }

  /** Something that may happen in any block. */
  async incident(miner: Miner): Promise<Action> {
    const roll = this.#dice.roll()
    if (roll < 0.45) return this.trade(miner)
    if (roll < 0.6) return this.deposit()
    if (roll < 0.7) return this.withdrawal()
    return roll < 0.87 ? this.treasuryIncome() : this.treasurySpending()
  }

  price(): Action {
    const { owner, feed } = this.#deployment
    this.#price *= 1 + this.#dice.between(-0.01, 0.01) + 0.02 * (1 - this.#price / 2)
    return call(owner, feed, 'update', feedAnswer(this.#price))
  }

  /** Moves the pool by up to half a percent, towards the feed. */
  async trade(miner: Miner): Promise<Action> {
    const { owner, trader, pool, tide, dollar } = this.#deployment
    const [reserve0, reserve1] = (await miner.read(pool, 'getReserves')) as [bigint, bigint, number]
    const [tideReserve, dollarReserve] =
      BigInt(tide.address) < BigInt(dollar.address) ? [reserve0, reserve1] : [reserve1, reserve0]
    const share = this.#dice.between(0.0002, 0.005)
    const poolPrice = Number(dollarReserve) / 1e6 / (Number(tideReserve) / 1e18)
    return poolPrice > this.#price
      ? call(owner, trader, 'sell', pool.address, tide.address, tides((Number(tideReserve) / 1e18) * share))
      : call(owner, trader, 'sell', pool.address, dollar.address, dollars((Number(dollarReserve) / 1e6) * share))
  }

  deposit(): Action {
    const { owner, vault } = this.#deployment
    return call(owner, vault, 'deposit', dollars(this.#dice.between(100, 4_000)), owner)
  }

  withdrawal(): Action {
    const { owner, vault } = this.#deployment
    return call(owner, vault, 'withdraw', dollars(this.#dice.between(100, 3_000)), owner, owner)
  }

  yield(): Action {
    const { owner, dollar, vault } = this.#deployment
    return call(owner, dollar, 'mint', vault.address, dollars(this.#dice.between(5, 60)))
  }

  emission(): Action {
    const { owner, tide } = this.#deployment
    return this.#dice.roll() < 0.8
      ? call(owner, tide, 'mint', owner, tides(this.#dice.between(200, 2_000)))
      : call(owner, tide, 'burn', tides(this.#dice.between(50, 500)))
  }

  treasuryIncome(): Action {
    const { owner, treasury } = this.#deployment
    return { from: owner, to: treasury, value: ethers(this.#dice.between(0.1, 1)) }
  }

  treasurySpending(): Action {
    const { owner, treasury } = this.#deployment
    return { from: treasury, to: owner, value: ethers(this.#dice.between(0.1, 2)) }
  }
}
