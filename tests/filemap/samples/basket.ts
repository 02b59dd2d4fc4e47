import { EventEmitter } from "node:events";
import type { Price } from "./price";

/** How a basket is kept. */
export interface Store<T = string> {
  readonly name: string;
  load(id: T): Promise<Basket>;
  onChange?: (basket: Basket) => void;
}

export type Listener = {
  handle(event: string): void;
};

export enum State {
  Open,
  Paid = "paid",
}

export const MAX_ITEMS = 50;

@sealed
export abstract class Basket extends EventEmitter {
  static #count = 0;
  private items: Map<string, number> = new Map();

  constructor(readonly owner: string) {
    super();
  }

  // Adds it, or more of it.
  async add(name: string, price: Price): Promise<number> {
    const step = (n: number) => n + 1;
    return step(this.items.size);
  }

  get size(): number {
    return this.items.size;
  }

  abstract total(): number;
  private clear = () => {
    this.items.clear();
  };
}

export function parse(text: string): Basket;
export function parse(text: Buffer): Basket;
export function parse(text: unknown): Basket {
  throw new Error("no");
}

export const format = async (basket: Basket): Promise<string> => `${basket.size}`;

declare module "legacy-cart" {
  export function open(): void;
  namespace inner {
    const version: string;
  }
}

declare global {
  interface Window {
    basket: Basket;
  }
}

export default function () {
  return MAX_ITEMS;
}
