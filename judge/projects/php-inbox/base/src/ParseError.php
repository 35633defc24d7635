<?php

namespace Inbox;

final class ParseError extends \RuntimeException
{
}
