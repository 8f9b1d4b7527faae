import type { SeededRandom } from './seeded-random.js'

const WORDS = ["'A'", "'B'", "'x'", "'act'", "'p1'"]

/** Statements that insert, update, move and delete rows of the lab, few enough rows for many of them to meet. */
export class ChangeMaker {
  readonly #random: SeededRandom

  constructor(random: SeededRandom) {
    this.#random = random
  }

  fill(): string {
    return Array.from({ length: 100 }, () => this.#write()).join('; ')
  }

  changes(): string {
    return Array.from({ length: 1 + this.#random.int(5) }, () =>
      this.#random.chance(0.65) ? this.#write() : this.#remove(),
    ).join('; ')
  }

  #word(): string {
    return this.#random.pick(WORDS)
  }

  #id(): number {
    return this.#random.int(5)
  }

  #write(): string {
    const random = this.#random
    return random.pick([
      () =>
        `INSERT INTO lab.film VALUES (${this.#id()}, 'n', ${this.#word()}, ${random.int(5)}, ${this.#id()}) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, year = excluded.year, studio_id = excluded.studio_id`,
      () =>
        `INSERT INTO lab.person VALUES (${this.#id()}, ${this.#word()}) ON CONFLICT (id) DO UPDATE SET name = excluded.name`,
      () =>
        `INSERT INTO lab.studio VALUES (${this.#id()}, 's', ${random.pick([...WORDS, 'NULL'])}) ON CONFLICT (id) DO UPDATE SET country = excluded.country`,
      () =>
        `INSERT INTO lab.film_person VALUES (${this.#id()}, ${this.#id()}, ${this.#word()}) ON CONFLICT DO NOTHING`,
      () =>
        `INSERT INTO lab.rating VALUES (${this.#id()}, ${this.#id()}, ${random.int(5)}, ${random.int(2)}) ON CONFLICT (film_id, user_id) DO UPDATE SET stars = excluded.stars, bucket = excluded.bucket`,
      () =>
        `INSERT INTO lab.tag VALUES (${random.int(8)}, ${random.pick([this.#id(), this.#id(), 'NULL'])}, ${random.pick([...WORDS, 'NULL'])}) ON CONFLICT (id) DO UPDATE SET film_id = excluded.film_id, label = excluded.label`,
      // Rows that move from one group to another, key and all.
      () => `UPDATE lab.tag SET film_id = ${this.#id()} WHERE film_id = ${this.#id()}`,
      () =>
        `UPDATE lab.film_person SET film_id = ${this.#id()} WHERE (film_id, person_id) = (${this.#id()}, ${this.#id()}) AND NOT EXISTS (SELECT FROM lab.film_person x WHERE x.person_id = film_person.person_id AND x.role = film_person.role AND x.film_id <> film_person.film_id)`,
    ])()
  }

  #remove(): string {
    return this.#random.pick([
      () => `DELETE FROM lab.film WHERE id = ${this.#id()}`,
      () => `DELETE FROM lab.person WHERE id = ${this.#id()}`,
      () => `DELETE FROM lab.studio WHERE id = ${this.#id()}`,
      () => `DELETE FROM lab.film_person WHERE film_id = ${this.#id()} AND person_id <= ${this.#id()}`,
      () => `DELETE FROM lab.rating WHERE film_id = ${this.#id()}`,
      () => `DELETE FROM lab.tag WHERE id <= ${this.#random.int(3)}`,
    ])()
  }
}
