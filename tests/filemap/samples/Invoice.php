<?php

declare(strict_types=1);

namespace Shop\Billing;

use Shop\Item;
use Shop\{Tax, Customer as Client};

const RATE = 19;

/**
 * What somebody has to pay.
 */
abstract class Invoice extends Document implements Printable
{
    use Signed;

    public const CURRENCY = 'EUR', STEP = 5;
    private array $lines = [];
    protected static ?int $count = null;

    public function __construct(private string $number)
    {
    }

    #[Pure]
    final public static function make(string $number, int ...$more): static
    {
        $f = function () { return 1; };
        return new static($number);
    }

    abstract protected function total(): float;
}

interface Printable
{
    public function print(): string;
}

trait Signed
{
    private function sign() {}
}

enum Status: string
{
    case Open = 'open';
    case Paid = 'paid';

    public function label(): string { return ucfirst($this->value); }
}

if (!function_exists('money')) {
    function money(float $value): string
    {
        return number_format($value, 2);
    }
}
