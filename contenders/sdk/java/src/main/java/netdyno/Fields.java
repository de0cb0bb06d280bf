package netdyno;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.regex.Pattern;

/** Typed and bounded access to the fields of a JSON object. An IllegalArgumentException names a wrong field. */
public record Fields(JsonObject object) {
    /** Numeric addresses only, because the class library would resolve a name. */
    private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%\\w+)?");

    public JsonElement any(String name) {
        JsonElement value = object.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }

    public String text(String name) {
        JsonElement value = any(name);
        if (value instanceof JsonPrimitive p && p.isString()) {
            return p.getAsString();
        }
        throw wrong(name, "a text");
    }

    public String choice(String name, List<String> choices) {
        String value = text(name);
        if (choices.contains(value)) {
            return value;
        }
        throw wrong(name, "one of " + choices);
    }

    public boolean flag(String name) {
        if (any(name) instanceof JsonPrimitive p && p.isBoolean()) {
            return p.getAsBoolean();
        }
        throw wrong(name, "true or false");
    }

    public long integer(String name, long min, long max) {
        if (any(name) instanceof JsonPrimitive p && p.isNumber()) {
            try {
                long value = new BigDecimal(p.getAsString()).longValueExact();
                if (min <= value && value <= max) {
                    return value;
                }
            } catch (ArithmeticException | NumberFormatException e) {
                // Said below.
            }
        }
        throw wrong(name, "an integer from " + min + " to " + max);
    }

    public double number(String name, double min, double max) {
        if (any(name) instanceof JsonPrimitive p && p.isNumber() && min <= p.getAsDouble() && p.getAsDouble() <= max) {
            return p.getAsDouble();
        }
        throw wrong(name, "a number from " + min + " to " + max);
    }

    public InetAddress address(String name) {
        String value = text(name);
        try {
            if (ADDRESS.matcher(value).matches()) {
                return InetAddress.getByName(value);
            }
        } catch (UnknownHostException e) {
            // Said below.
        }
        throw wrong(name, "an IP address");
    }

    public Fields fields(String name) {
        if (any(name) instanceof JsonObject value) {
            return new Fields(value);
        }
        throw wrong(name, "an object");
    }

    private IllegalArgumentException wrong(String name, String rule) {
        return new IllegalArgumentException(name + " is " + object.get(name) + ", not " + rule);
    }
}
